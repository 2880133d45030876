import type { Pod, Service } from "../../api/core.ts";
import { isFinished, isTerminating } from "../../api/pods.ts";
import { type Address, parseAddress } from "./ip.ts";

/** Whether we write the endpoints of the service: it has a selector and is not of type ExternalName. */
export const isManaged = ({ spec }: Service): boolean => spec?.type !== "ExternalName" && spec?.selector !== undefined;

/** Annotation of the Endpoints that old leader elections use. They have no service and are not mirrored. */
export const leaderElection = "control-plane.alpha.kubernetes.io/leader";

/** The label of the Endpoints and slices of a headless service. */
export const headlessLabel = "service.kubernetes.io/headless";

/** Whether the service has no cluster IP, so that clients find its pods by DNS only. */
export const isHeadless = ({ spec }: Service): boolean => (spec?.clusterIP ?? "") === "" || spec?.clusterIP === "None";

/** Whether a selected pod can be an endpoint of its service (docs/kubernetes-rules.md#endpoints, #endpoint-slices). */
export function isEligible(pod: Pod, withTerminating: boolean): boolean {
  if (isFinished(pod)) return false;
  if (!pod.status?.podIP && !pod.status?.podIPs?.length) return false;
  return withTerminating || !isTerminating(pod);
}

/** The host name of the pod within the service's DNS name, if the pod requests one. */
export function hostnameOf(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec ?? {};
  const isOfService = subdomain === service.metadata.name && pod.metadata.namespace === service.metadata.namespace;
  return hostname && isOfService ? hostname : undefined;
}

/** The addresses of a pod in the order of its status, without those that cannot be parsed. */
export const addressesOf = ({ status }: Pod): readonly Address[] =>
  (status?.podIPs ?? []).flatMap(({ ip }) => parseAddress(ip) ?? []);
