import type { Service } from "./core.ts";

export const zoneLabel = "topology.kubernetes.io/zone";

/**
 * Whether a service asks for its endpoints to be allocated to zones in proportion to their boards' capacity: an
 * annotation that `trafficDistribution` has replaced. The older of its two names takes precedence.
 */
export function asksForZones({ metadata: { annotations } }: Service): boolean {
  const mode =
    annotations?.["service.kubernetes.io/topology-aware-hints"] ?? annotations?.["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
}
