import type { Pod, Service } from "../../api/core.ts";
import { mapped, type Steps } from "../../base/steps.ts";

export type ServicePort = NonNullable<NonNullable<Service["spec"]>["ports"]>[number];
type NamedPort = ServicePort & { readonly targetPort: string };
type Container = NonNullable<Pod["spec"]>["containers"][number];

/**
 * The pod's port for a service port (docs/kubernetes-rules.md#named-ports). A number is used as it is, even if no
 * container exposes it; a name is that of the first container port with this name and protocol. `undefined`: the pod
 * has no such port.
 */
export function targetPortOf(pod: Pod, { port, targetPort, protocol = "TCP" }: ServicePort): number | undefined {
  if (targetPort === undefined) return port;
  if (typeof targetPort === "number") return targetPort;
  for (const container of servingContainers(pod)) {
    for (const known of container.ports ?? []) {
      if (known.name === targetPort && (known.protocol ?? "TCP") === protocol) return known.containerPort;
    }
  }
  return undefined;
}

/** The service's ports that name a port of the pods instead of a number. */
export const namedPortsOf = ({ spec }: Service): readonly NamedPort[] =>
  (spec?.ports ?? []).filter((port): port is NamedPort => typeof port.targetPort === "string");

/**
 * Computes `of` once for all pods that resolve the service's named ports to the same numbers: a service with thousands
 * of ports may select hundreds of pods.
 */
export function perPod<T>(service: Service, of: (pod: Pod) => Steps<T>): (pod: Pod) => Steps<T> {
  const named = namedPortsOf(service);
  const known = new Map<string, { readonly it: T }>();
  return function* (pod) {
    const numbers = (yield* mapped(named, (port) => targetPortOf(pod, port) ?? "")).join();
    const one = known.get(numbers) ?? { it: yield* of(pod) };
    known.set(numbers, one);
    return one.it;
  };
}

/** Sidecars (init containers that restart always) serve too. */
const servingContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always"),
];
