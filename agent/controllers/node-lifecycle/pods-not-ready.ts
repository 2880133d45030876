import { timestamp } from "../../api/timestamps.ts";
import type { Instant } from "../../base/clock.ts";
import type { Action, Cause, ObjectRef } from "../../execution/actions.ts";
import { setCondition } from "../set-condition.ts";

/** Sets the pod's Ready condition to False. Reason and message stay as the kubelet wrote them. */
export function markNotReady(target: ObjectRef, cause: Cause | undefined, now: Instant): readonly Action[] {
  const condition = { type: "Ready", status: "False", lastTransitionTime: timestamp(now) };
  return [
    setCondition(target, condition, cause),
    { do: "event", about: target, severity: "Warning", reason: "NodeNotReady", message: "Node is not ready" },
  ];
}
