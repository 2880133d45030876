import type { DaemonSet } from "../../api/core.ts";

type Written = NonNullable<
  NonNullable<NonNullable<DaemonSet["spec"]>["updateStrategy"]>["rollingUpdate"]
>["maxUnavailable"];

/** How many boards may lack an available pod, or have a second pod, at the same time during an update. */
export interface UpdateLimits {
  readonly maxUnavailable: number;
  readonly maxSurge: number;
}

/**
 * The limits of a set's updates; undefined for OnDelete, with which a pod is replaced only after it has been deleted by
 * hand.
 */
export function updateLimits({ spec }: DaemonSet, desired: number): UpdateLimits | undefined {
  if (spec?.updateStrategy?.type === "OnDelete") return undefined;
  const { maxUnavailable, maxSurge } = spec?.updateStrategy?.rollingUpdate ?? {};
  const limits = { maxUnavailable: share(maxUnavailable, desired, 1), maxSurge: share(maxSurge, desired, 0) };
  // With both limits at 0, an update would never proceed.
  const isStuck = desired > 0 && limits.maxUnavailable === 0 && limits.maxSurge === 0;
  return isStuck ? { ...limits, maxUnavailable: 1 } : limits;
}

/** Whether a board may have an old and a new pod at the same time. */
export const allowsSurge = (set: DaemonSet): boolean => (updateLimits(set, 1)?.maxSurge ?? 0) > 0;

/** A limit as a number of boards. A percentage of `desired` is rounded up, as in kube-controller-manager. */
function share(written: Written | null | undefined, desired: number, usual: number): number {
  if (typeof written === "number") return written;
  const [, percent] = /^(\d{1,9})%$/.exec(written ?? "") ?? [];
  return percent === undefined ? usual : Math.ceil((Number(percent) * desired) / 100);
}
