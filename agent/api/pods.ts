import { conditionOf } from "./conditions.ts";
import type { Pod, PodCondition } from "./core.ts";

/** The board that a pod is bound to. */
export const boardOf = ({ spec }: Pod): string | undefined => spec?.nodeName || undefined;

/** Somebody deleted it; it is on its way out. */
export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** It has run to its end, well or badly, and will not run again. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** For the garbage collection anything ends that is not in one of the phases of life, and be it in no phase at all. */
export const hasEnded = ({ status }: Pod): boolean => !["Pending", "Running", "Unknown"].includes(status?.phase ?? "");

/**
 * It ended, and was deleted with no time to leave: only its finalizers keep it. A tenant may set them on any number of pods
 * and leave them there; to delete these again changes nothing.
 */
export const isKeptByFinalizers = (pod: Pod): boolean =>
  isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 && isFinished(pod);

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined =>
  conditionOf(status?.conditions, type);
