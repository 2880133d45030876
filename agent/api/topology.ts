import type { Service } from "./core.ts";

export const zoneLabel = "topology.kubernetes.io/zone";

/**
 * Whether a service asks for its endpoints to be shared among the zones by what their boards can do: an annotation that
 * `trafficDistribution` has replaced. The older of its two names is what counts, if it is there.
 */
export function asksForZones({ metadata: { annotations } }: Service): boolean {
  const mode =
    annotations?.["service.kubernetes.io/topology-aware-hints"] ?? annotations?.["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
}
