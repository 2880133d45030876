import type { Pod } from "../../api/core.ts";
import { isFinished, isTerminating } from "../../api/pods.ts";
import type { Cause } from "../../execution/actions.ts";
import { targetOf } from "./daemon-pod.ts";
import type { Eligibility } from "./eligibility.ts";

/** A board as one DaemonSet sees it. */
export interface Board extends Eligibility {
  readonly name: string;
  /** Its Node is Ready=Unknown: its pods are not ready by our verdict, not by their own report. */
  readonly silence?: Silence;
}

export interface Silence {
  readonly cause: Cause;
  /**
   * Nothing may be done because of the silence now: the link is down, a quarantine or freeze is on, or the verdict
   * forbids it.
   */
  readonly isHeld: boolean;
}

/** A pod to be deleted. */
export interface Leaving {
  readonly pod: Pod;
  /** Set if our verdict made the pod look broken. */
  readonly cause?: Cause;
}

/** The deletion of a broken pod; empty if it only looks broken because its board is silent and the silence is held. */
export function leavingAsBroken(pod: Pod, board: Board | undefined): readonly Leaving[] {
  if (board?.silence === undefined) return [{ pod }];
  return board.silence.isHeld ? [] : [{ pod, cause: board.silence.cause }];
}

export type PodsByBoard = ReadonlyMap<string, readonly Pod[]>;

/**
 * The pods of a set by the board that they run on or are meant for. Leaves out finished pods that are terminating:
 * their board is free for the next one, however long their deletion takes.
 */
export function podsByBoard(pods: readonly Pod[]): PodsByBoard {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    const target = targetOf(pod);
    if (target === undefined || (isTerminating(pod) && isFinished(pod))) continue;
    const others = found.get(target);
    if (others) others.push(pod);
    else found.set(target, [pod]);
  }
  return found;
}
