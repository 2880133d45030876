import { conditionOf } from "./conditions.ts";
import type { Pod, PodCondition } from "./core.ts";

/** Whether a kubelet has ever accepted the pod: on accepting it, the kubelet sets the Ready condition. */
export const wasAcceptedByKubelet = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type }) => type === "Ready") ?? false;

/** The name of the board that a pod is bound to; undefined if it is not bound yet. */
export const boardOf = ({ spec }: Pod): string | undefined => spec?.nodeName || undefined;

/** Whether the pod's deletion was requested; it still exists. */
export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** Whether the pod has terminated, successfully or not, and will not run again. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Ended in the sense of pod garbage collection: the phase is missing, or is none of these three. */
export const hasEnded = ({ status }: Pod): boolean => !["Pending", "Running", "Unknown"].includes(status?.phase ?? "");

/**
 * Whether only finalizers keep the pod: it has ended, its deletion was requested, and its grace period has expired.
 * Tenants may leave behind any number of such pods; deleting them again has no effect.
 */
export const isKeptByFinalizers = (pod: Pod): boolean =>
  isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 && isFinished(pod);

/** The kubelet sets this annotation on the API's copy of a pod that it runs from a file. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * Whether the pod is the API's copy of one that the kubelet runs from a file, so that deleting it stops nothing. Cached
 * pods lack the annotation.
 */
export const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[mirrorAnnotation] !== undefined;

/** On a pod or its namespace: whether the pod is evicted if its board falls silent. */
export const onSilenceAnnotation = "siteward.dev/on-silence";

/** The names of the pod's persistent volume claims. */
export const claimsOf = ({ spec }: Pod): readonly string[] =>
  (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

/** Whether its Ready condition is True. */
export const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/**
 * Whether the pod must be marked not ready if its board falls silent. A pod without a Ready condition has never been
 * ready.
 */
export function countsAsReady(pod: Pod): boolean {
  const ready = podCondition(pod, "Ready");
  return ready !== undefined && ready.status !== "False";
}

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined =>
  conditionOf(status?.conditions, type);
