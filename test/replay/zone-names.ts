import type { ZoneState } from "../../agent/controllers/node-lifecycle/zones/zones.ts";

/** The states of zones, as named by kube-controller-manager and in cases. */
export const stateNames: Readonly<Record<ZoneState, string>> = {
  initial: "Initial",
  normal: "Normal",
  partial: "PartialDisruption",
  full: "FullDisruption",
};

export const stateSchema = {
  type: "string",
  enum: Object.values(stateNames),
  description:
    "FullDisruption: no board is ready, and there is one. PartialDisruption: more than two boards are not ready, and " +
    "their share is at least unhealthyZoneThreshold. Normal: otherwise. Initial: not judged yet.",
};
