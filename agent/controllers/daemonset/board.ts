import type { Pod } from "../../api/core.ts";
import { isFinished, isTerminating } from "../../api/pods.ts";
import { endsStep, type Steps } from "../../base/steps.ts";
import type { Grounds } from "../../decisions/grounds.ts";
import type { Cause } from "../../execution/actions.ts";
import { targetOf } from "./daemon-pod.ts";
import type { Eligibility } from "./eligibility.ts";

/** A board as one DaemonSet sees it. */
export interface Board extends Eligibility {
  readonly name: string;
  /**
   * Set while the Node is Ready=Unknown: its pods are then not ready because of our verdict, not because of a report.
   */
  readonly silence?: Silence;
}

export interface Silence {
  readonly cause: Cause;
  /** The grounds for replacing a pod of the board. */
  readonly grounds: Grounds;
  /**
   * Whether the silence currently permits no deletion of pods, because the link is down, or a quarantine, freeze or
   * verdict forbids it.
   */
  readonly isHeld: boolean;
}

/** A pod to be deleted. */
export interface LeavingPod {
  readonly pod: Pod;
  /** The silence of the board that led to the pod's deletion; undefined if it is deleted for another reason. */
  readonly silence?: Silence;
}

/**
 * The deletion of a broken pod; empty if the pod only appears broken because its board is silent, and that silence does
 * not permit a harmful act now.
 */
export function leavingAsBroken(pod: Pod, board: Board | undefined): readonly LeavingPod[] {
  if (board?.silence === undefined) return [{ pod }];
  return board.silence.isHeld ? [] : [{ pod, silence: board.silence }];
}

export type PodsByBoard = ReadonlyMap<string, readonly Pod[]>;

/**
 * The pods of a set by the board that they run on or were created for. Finished pods that are terminating are omitted:
 * their board gets its next pod regardless of how long their deletion takes.
 */
export function* podsByBoard(pods: readonly Pod[]): Steps<PodsByBoard> {
  const found = new Map<string, Pod[]>();
  for (const [index, pod] of pods.entries()) {
    if (endsStep(index)) yield;
    const target = targetOf(pod);
    if (target === undefined || (isTerminating(pod) && isFinished(pod))) continue;
    const others = found.get(target);
    if (others) others.push(pod);
    else found.set(target, [pod]);
  }
  return found;
}
