import type { Pod, Service } from "../../api/core.ts";
import { isFinished, isTerminating, podCondition } from "../../api/pods.ts";
import { type Address, parseAddress } from "./ip.ts";

/** Whose endpoints are somebody else's: one that is only a name, or one without a selector. */
export const isManaged = ({ spec }: Service): boolean => spec?.type !== "ExternalName" && spec?.selector !== undefined;

/** On Endpoints that hold an election of old: they never had a service, and nobody repeats them. */
export const leaderElection = "control-plane.alpha.kubernetes.io/leader";

/** Nothing but its name leads to its pods. */
export const isHeadless = ({ spec }: Service): boolean => (spec?.clusterIP ?? "") === "" || spec?.clusterIP === "None";

/**
 * Whether a pod that a service selects can be one of its endpoints at all (docs/kubernetes-rules.md#endpoints,
 * #endpoint-slices).
 */
export function isEligible(pod: Pod, withTerminating: boolean): boolean {
  if (isFinished(pod)) return false;
  if (!pod.status?.podIP && !pod.status?.podIPs?.length) return false;
  return withTerminating || !isTerminating(pod);
}

export const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/** The name under which DNS knows the pod besides its service, where it asks for one. */
export function hostnameOf(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec ?? {};
  const isOfService = subdomain === service.metadata.name && pod.metadata.namespace === service.metadata.namespace;
  return hostname && isOfService ? hostname : undefined;
}

/** The addresses of a pod, in its order; what nobody can read is none. */
export const addressesOf = ({ status }: Pod): readonly Address[] =>
  (status?.podIPs ?? []).flatMap(({ ip }) => parseAddress(ip) ?? []);
