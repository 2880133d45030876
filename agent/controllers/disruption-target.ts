import type { Pod, PodCondition } from "../api/core.ts";
import { podCondition } from "../api/pods.ts";
import { timestamp } from "../api/timestamps.ts";
import type { Instant } from "../base/clock.ts";

/** The condition that says why a pod is deleted, for readers of the terminating pod; undefined if it is already set. */
export function disruptionTarget(
  pod: Pod,
  { reason, message }: { readonly reason: string; readonly message: string },
  now: Instant,
): PodCondition | undefined {
  const before = podCondition(pod, "DisruptionTarget");
  const isTrue = before?.status === "True";
  if (isTrue && before.reason === reason && before.message === message) return undefined;
  return {
    type: "DisruptionTarget",
    status: "True",
    reason,
    message,
    lastTransitionTime: (isTrue && before.lastTransitionTime) || timestamp(now),
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
  };
}
