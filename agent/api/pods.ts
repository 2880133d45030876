import { conditionOf } from "./conditions.ts";
import type { Pod, PodCondition } from "./core.ts";

/** The board that a pod is bound to. */
export const boardOf = ({ spec }: Pod): string | undefined => spec?.nodeName || undefined;

/** The pod was deleted and is still there. */
export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** The pod has run to its end, succeeded or failed, and will not run again. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** For the garbage collection, any other phase counts as ended, even a missing one. */
export const hasEnded = ({ status }: Pod): boolean => !["Pending", "Running", "Unknown"].includes(status?.phase ?? "");

/**
 * The pod ended and was deleted without a grace period: only its finalizers keep it. A tenant may set them on any
 * number of pods and leave them there; deleting these pods again has no effect.
 */
export const isKeptByFinalizers = (pod: Pod): boolean =>
  isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 && isFinished(pod);

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined =>
  conditionOf(status?.conditions, type);
