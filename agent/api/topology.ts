import type { Service } from "./core.ts";

export const zoneLabel = "topology.kubernetes.io/zone";

/**
 * True if an annotation of the service asks for endpoints to be allocated to zones in proportion to the capacity of
 * their boards. The field `trafficDistribution` has replaced the annotation. The annotation has two names; if both are
 * set, the older one decides.
 */
export function asksForZones({ metadata: { annotations } }: Service): boolean {
  const mode =
    annotations?.["service.kubernetes.io/topology-aware-hints"] ?? annotations?.["service.kubernetes.io/topology-mode"];
  return mode === "Auto" || mode === "auto";
}
