import type { History } from "../history.ts";
import { isMovable } from "../pod-keeper.ts";
import { type Act, actText } from "./acts.ts";

/**
 * Under policy `evidence` no pod is evicted whose eviction gains no second copy. A pod that no kubelet has started has
 * nothing to lose.
 */
export const checkGain = ({ setting }: History, acts: readonly Act[]): readonly string[] =>
  setting.policy === "evidence"
    ? acts
        .filter(
          ({ is, pod = "", isDone, isOnRunning }) =>
            is === "evict" && isDone && isOnRunning && !isMovable(pod, setting),
        )
        .map((act) => `gain: ${actText(act)}: no other board can take it over`)
    : [];
