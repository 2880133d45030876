import type { Config } from "./settings.ts";

/** The namespaces in which Leases count as those of sites, the site's own first. */
export const leaseNamespaces = ({ namespace, otherNamespaces }: Config["leader"]): readonly string[] => [
  ...new Set([namespace, ...(otherNamespaces?.split(",").map((name) => name.trim()) ?? [])]),
];
