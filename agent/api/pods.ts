import { conditionOf } from "./conditions.ts";
import type { Pod, PodCondition } from "./core.ts";

/** Whether a kubelet has ever accepted the pod, which is when it sets the Ready condition. */
export const isTakenUp = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type }) => type === "Ready") ?? false;

/** The name of the board that a pod is bound to; undefined if it is not bound yet. */
export const boardOf = ({ spec }: Pod): string | undefined => spec?.nodeName || undefined;

/** The pod's deletion was requested, and the pod still exists. */
export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** The pod has run to its end, succeeded or failed, and will not run again. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Ended in the sense of pod garbage collection: the phase is missing, or is not one of these three. */
export const hasEnded = ({ status }: Pod): boolean => !["Pending", "Running", "Unknown"].includes(status?.phase ?? "");

/**
 * The pod has ended, its deletion was requested and its grace period is over, so only finalizers keep it. Tenants may
 * leave any number of such pods; deleting them again has no effect.
 */
export const isKeptByFinalizers = (pod: Pod): boolean =>
  isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 && isFinished(pod);

/** The kubelet sets this annotation on the API's copy of a pod that it runs from a file. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * The pod is a copy of one that the kubelet runs from a file: deleting it ends nothing. Cached pods lack the
 * annotation.
 */
export const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[mirrorAnnotation] !== undefined;

/** Whether its Ready condition is True. */
export const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";

/**
 * Whether the pod is marked not ready if its board falls silent. A pod without a Ready condition has never been ready.
 */
export function countsAsReady(pod: Pod): boolean {
  const ready = podCondition(pod, "Ready");
  return ready !== undefined && ready.status !== "False";
}

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined =>
  conditionOf(status?.conditions, type);
