import type { Pod } from "../../api/core.ts";
import { isFinished, isTerminating } from "../../api/pods.ts";
import type { Cause } from "../../execution/actions.ts";
import { targetOf } from "./daemon-pod.ts";
import type { Eligibility } from "./eligibility.ts";

/** A board as one set sees it. */
export interface Board extends Eligibility {
  readonly name: string;
  /** Its Node is Ready=Unknown: that its pods are not ready is our verdict, not their own word. */
  readonly silence?: Silence;
}

export interface Silence {
  readonly cause: Cause;
  /** Nothing that follows from the silence is done now: we are blind, in quarantine, or the verdict forbids it. */
  readonly isHeld: boolean;
}

/** A pod that has to go. */
export interface Leaving {
  readonly pod: Pod;
  /** Present where it goes because our verdict made it look broken. */
  readonly cause?: Cause;
}

/** Nothing, where the pod seems broken only because its board is silent and nothing may follow from that now. */
export function leavingAsBroken(pod: Pod, board: Board | undefined): readonly Leaving[] {
  if (board?.silence === undefined) return [{ pod }];
  return board.silence.isHeld ? [] : [{ pod, cause: board.silence.cause }];
}

export type PodsByBoard = ReadonlyMap<string, readonly Pod[]>;

/**
 * The pods of a set by the board that they run on or are meant for. What is over and on its way out is left out: its board
 * is free for the next one, however long something keeps the old one from going.
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
