import type { DaemonSet } from "../../api/core.ts";

type Written = NonNullable<
  NonNullable<NonNullable<DaemonSet["spec"]>["updateStrategy"]>["rollingUpdate"]
>["maxUnavailable"];

/** How many boards an update may leave without an available pod, or give a second pod, at a time. */
export interface UpdateLimits {
  readonly maxUnavailable: number;
  readonly maxSurge: number;
}

/** `undefined`: pods are replaced only when somebody deletes the old ones. */
export function updateLimits({ spec }: DaemonSet, desired: number): UpdateLimits | undefined {
  if (spec?.updateStrategy?.type === "OnDelete") return undefined;
  const { maxUnavailable, maxSurge } = spec?.updateStrategy?.rollingUpdate ?? {};
  const limits = { maxUnavailable: share(maxUnavailable, desired, 1), maxSurge: share(maxSurge, desired, 0) };
  // Nothing at all would be an update that never comes.
  const isStuck = desired > 0 && limits.maxUnavailable === 0 && limits.maxSurge === 0;
  return isStuck ? { ...limits, maxUnavailable: 1 } : limits;
}

/** Whether a board may have an old and a new pod side by side. */
export const allowsSurge = (set: DaemonSet): boolean => (updateLimits(set, 1)?.maxSurge ?? 0) > 0;

/** Percentages round up, of both. */
function share(written: Written | null | undefined, desired: number, usual: number): number {
  if (typeof written === "number") return written;
  const [, percent] = /^(\d{1,9})%$/.exec(written ?? "") ?? [];
  return percent === undefined ? usual : Math.ceil((Number(percent) * desired) / 100);
}
