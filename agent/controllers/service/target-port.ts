import type { Pod, Service } from "../../api/core.ts";
import { mapped, type Steps } from "../../base/steps.ts";

export type ServicePort = NonNullable<NonNullable<Service["spec"]>["ports"]>[number];
type Container = NonNullable<Pod["spec"]>["containers"][number];

/**
 * The port of a pod that a port of a service leads to (docs/kubernetes-rules.md#named-ports): a number as it is,
 * whether a container exposes it or not; a name as the first container that has it says, for the same protocol.
 * `undefined`: the pod has no such port.
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

/**
 * What follows from the ports of a service on each pod, worked out once for pods that agree on the ports that the service asks
 * for by their names: a service of thousands of ports may select hundreds of pods.
 */
export function perPod<T>({ spec }: Service, of: (pod: Pod) => Steps<T>): (pod: Pod) => Steps<T> {
  const named = (spec?.ports ?? []).filter(({ targetPort }) => typeof targetPort === "string");
  const known = new Map<string, { readonly it: T }>();
  return function* (pod) {
    const numbers = (yield* mapped(named, (port) => targetPortOf(pod, port) ?? "")).join();
    const one = known.get(numbers) ?? { it: yield* of(pod) };
    known.set(numbers, one);
    return one.it;
  };
}

/** Of those that start before the others, the ones that stay beside them serve too. */
const servingContainers = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.containers ?? []),
  ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always"),
];
