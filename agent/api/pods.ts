import { conditionOf } from "./conditions.ts";
import type { Pod, PodCondition } from "./core.ts";

/** The board that a pod is bound to. */
export const boardOf = ({ spec }: Pod): string | undefined => spec?.nodeName || undefined;

/** Somebody deleted it; it is on its way out. */
export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** It has run to its end, well or badly, and will not run again. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined =>
  conditionOf(status?.conditions, type);
