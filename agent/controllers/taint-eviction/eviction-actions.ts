import type { Pod } from "../../api/core.ts";
import { pods } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import type { Grounds } from "../../decisions/grounds.ts";
import { type Action, anyStateOf, type Cause, type ObjectRef, refTo } from "../../execution/actions.ts";
import { disruptionTarget } from "../disruption-target.ts";
import { setCondition } from "../set-condition.ts";

/** Sets the DisruptionTarget condition, which must be written before the deletion. */
export function markDisrupted(pod: Pod, target: ObjectRef, cause: Cause | undefined, now: Instant): readonly Action[] {
  const message = "Taint manager: deleting due to NoExecute taint";
  const condition = disruptionTarget(pod, { reason: "DeletionByTaintManager", message }, now);
  return condition === undefined ? [] : [setCondition(target, condition, cause)];
}

/** Deletes the pod. */
export const remove = (target: ObjectRef, cause: Cause | undefined, grounds: Grounds): Action => ({
  do: "delete",
  target,
  grounds,
  ...(cause && { cause }),
});

export const eventOn = (about: ObjectRef, what: string, why?: string): Action => ({
  do: "event",
  about,
  severity: "Normal",
  reason: "TaintManagerEviction",
  message: `${what} ${about.namespace}/${about.name}${why === undefined ? "" : `: ${why}`}`,
});

/** A reference to the pod in any version, for Events and for deletions that do not depend on its state. */
export const refOf = (pod: Pod): ObjectRef => anyStateOf(refTo(pods, pod));
