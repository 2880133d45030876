import type { Pod } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant } from "../../base/clock.ts";
import { type Action, type Cause, refTo } from "../../execution/actions.ts";

/** A pod that never had a Ready condition does not get one. */
export function countsAsReady(pod: Pod): boolean {
  const ready = podCondition(pod, "Ready");
  return ready !== undefined && ready.status !== "False";
}

/** Takes a pod out of service by its Ready condition alone. Reason and message stay as its kubelet wrote them. */
export function markNotReady(pod: Pod, cause: Cause | undefined, now: Instant): readonly Action[] {
  const target = refTo(pods, pod);
  const condition = { type: "Ready", status: "False", lastTransitionTime: timestamp(now) };
  return [
    {
      do: "patch",
      target,
      type: "strategic",
      patch: { status: { conditions: [condition] } },
      subresource: "status",
      ...(cause && { cause }),
    },
    { do: "event", about: target, severity: "Warning", reason: "NodeNotReady", message: "Node is not ready" },
  ];
}
