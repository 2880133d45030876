import type { PodCondition } from "../api/core.ts";
import type { Action, Cause, ObjectRef } from "../execution/actions.ts";

/**
 * Sets one condition of a pod. Keeps its other conditions, and those fields of this condition that `condition` leaves
 * out.
 */
export const setCondition = (target: ObjectRef, condition: PodCondition, cause?: Cause): Action => ({
  do: "patch",
  target,
  type: "strategic",
  patch: { status: { conditions: [condition] } },
  subresource: "status",
  ...(cause && { cause }),
});
