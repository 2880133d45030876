import type { PodCondition } from "../api/core.ts";
import type { Action, Cause, ObjectRef } from "../execution/actions.ts";

/**
 * Sets one condition of a pod. Keeps its other conditions, and those members of this one that `condition` does not
 * name.
 */
export const setCondition = (target: ObjectRef, condition: PodCondition, cause?: Cause): Action => ({
  do: "patch",
  target,
  type: "strategic",
  patch: { status: { conditions: [condition] } },
  subresource: "status",
  ...(cause && { cause }),
});
