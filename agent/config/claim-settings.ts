import type { Millis } from "../base/clock.ts";
import type { Config } from "./settings.ts";

type LeaderSettings = Pick<Config["leader"], "namespace" | "otherNamespaces" | "duration">;

/** Other sites' claims are read once in this many term durations: every five minutes by default. */
const termsBetweenLooks = 5;

/** The namespaces whose Leases count as those of sites, the site's own first. */
export const leaseNamespaces = ({
  namespace,
  otherNamespaces,
}: Omit<LeaderSettings, "duration">): readonly string[] => [
  ...new Set([namespace, ...(otherNamespaces?.split(",").map((name) => name.trim()) ?? [])]),
];

/** Where, and how often, the claims of other sites are read. */
export const claimSettings = (
  leader: LeaderSettings,
): { readonly leaseNamespaces: readonly string[]; readonly period: Millis } => ({
  leaseNamespaces: leaseNamespaces(leader),
  period: termsBetweenLooks * leader.duration,
});
