import type { Millis } from "../base/clock.ts";
import type { Config } from "./settings.ts";

type LeaderSettings = Pick<Config["leader"], "namespace" | "otherNamespaces" | "duration">;

/** The claims of other sites are read once per this many `leader.duration`: every five minutes by default. */
const termsPerPeriod = 5;

/** The namespaces in which sites keep their Leases, this site's own first. */
export const leaseNamespaces = ({
  namespace,
  otherNamespaces,
}: Omit<LeaderSettings, "duration">): readonly string[] => [
  ...new Set([namespace, ...(otherNamespaces?.split(",").map((name) => name.trim()) ?? [])]),
];

/** Where and how often other sites' claims are read. */
export const claimSettings = (
  leader: LeaderSettings,
): { readonly leaseNamespaces: readonly string[]; readonly period: Millis } => ({
  leaseNamespaces: leaseNamespaces(leader),
  period: termsPerPeriod * leader.duration,
});
