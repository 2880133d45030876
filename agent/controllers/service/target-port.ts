import type { Pod, Service } from "../../api/core.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";

export type ServicePort = NonNullable<NonNullable<Service["spec"]>["ports"]>[number];
type NamedPort = ServicePort & { readonly targetPort: string };
type Container = NonNullable<Pod["spec"]>["containers"][number];

/** Numbers of the ports that a pod names, by protocol and name. */
export type OfferedPorts = ReadonlyMap<string, number>;

/** The named ports of a pod. If two have the same name and protocol, the first is used. */
export function offeredBy(pod: Pod): OfferedPorts {
  const offered = new Map<string, number>();
  for (const container of servingContainers(pod)) {
    for (const { name, protocol = "TCP", containerPort } of container.ports ?? []) {
      const key = `${protocol} ${name}`;
      if (name !== undefined && !offered.has(key)) offered.set(key, containerPort);
    }
  }
  return offered;
}

/**
 * The pod's port for a service port (docs/kubernetes-rules.md#named-ports). A number is used unchanged, even if no
 * container exposes it. Undefined if the pod has no such port.
 */
export function targetPortOf(
  offered: OfferedPorts,
  { port, targetPort, protocol = "TCP" }: ServicePort,
): number | undefined {
  if (targetPort === undefined) return port;
  return typeof targetPort === "number" ? targetPort : offered.get(`${protocol} ${targetPort}`);
}

/** The service's ports that name a port of the pods instead of a number. */
export const namedPortsOf = ({ spec }: Service): readonly NamedPort[] =>
  (spec?.ports ?? []).filter((port): port is NamedPort => typeof port.targetPort === "string");

/**
 * Computes `of` once for all pods that resolve the service's named ports to the same numbers, because a service with
 * thousands of ports may select hundreds of pods.
 */
export function perPod<T>(service: Service, of: (pod: Pod) => Steps<T>): (pod: Pod) => Steps<T> {
  const named = namedPortsOf(service);
  const results = new Map<string, { readonly value: T }>();
  return function* (pod) {
    const offered = offeredBy(pod);
    const numbers = (yield* mapInSteps(named, (port) => targetPortOf(offered, port) ?? "")).join();
    const result = results.get(numbers) ?? { value: yield* of(pod) };
    results.set(numbers, result);
    return result.value;
  };
}

/** The containers that may serve, including sidecars (init containers that always restart). */
const servingContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always"),
];
