import type { DaemonSet, Pod } from "../../api/core.ts";
import { isReady, isTerminating } from "../../api/pods.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { endsStep, type Steps } from "../../base/steps.ts";
import { type AvailabilityRule, isAvailable } from "./availability.ts";
import { type Board, type LeavingPod, leavingAsBroken } from "./board.ts";
import { hashLabel, oldestOf } from "./daemon-pod.ts";
import { backoffOf, type FailedBackoff, nextBackoff } from "./failed-pods.ts";
import { allowsSurge } from "./update-limits.ts";

/**
 * The changes that leave a board with the one pod that it should have
 * (docs/kubernetes-rules.md#daemon-pods-of-a-board).
 */
export interface BoardPlan {
  /** Whether a pod is created for the board. */
  readonly create: boolean;
  /** Pods to be deleted. */
  readonly leaving: readonly LeavingPod[];
  /** Finished pods, to be reported by Events. */
  readonly over: readonly { readonly pod: Pod; readonly how: "failed" | "succeeded" }[];
  /** The board's backoff after this plan; undefined if there is none. */
  readonly backoff: FailedBackoff | undefined;
  /** How much longer a failed pod is kept because of the backoff; undefined if no pod is kept. */
  readonly recheck: Millis | undefined;
}

export interface BoardContext {
  readonly set: DaemonSet;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly availability: AvailabilityRule;
  readonly backoff: FailedBackoff | undefined;
}

const nothing: BoardPlan = { create: false, leaving: [], over: [], backoff: undefined, recheck: undefined };

/**
 * Plans one board. `pods`: the set's pods that run on the board or were created for it; undefined if there are none.
 */
export function* planBoard(
  board: Board,
  pods: readonly Pod[] | undefined,
  context: BoardContext,
  now: Instant,
): Steps<BoardPlan> {
  const plan = { ...nothing, backoff: context.backoff };
  if (board.run && pods === undefined) return { ...plan, create: true };
  const staying = (pods ?? []).filter((pod) => !isTerminating(pod));
  if (!board.stay) return { ...plan, leaving: staying.map((pod) => ({ pod })) };
  const over = yield* planOver(staying, context, now);
  yield;
  const running = staying.filter(({ status }) => status?.phase !== "Failed" && status?.phase !== "Succeeded");
  yield;
  const surge = allowsSurge(context.set);
  const surplus = surge ? surplusWithSurge(running, board, context, now) : surplusOf(running);
  return {
    ...over,
    create: surge && board.run && running.length === 0,
    leaving: [...over.leaving, ...surplus],
  };
}

/**
 * Deletes finished pods, because a daemon should not end: succeeded ones immediately, failed ones after a growing
 * delay.
 */
function* planOver(pods: readonly Pod[], { set, backoff: before }: BoardContext, now: Instant): Steps<BoardPlan> {
  const generation = set.status?.observedGeneration ?? 0;
  const over: { readonly pod: Pod; readonly how: "failed" | "succeeded" }[] = [];
  let backoff = before;
  let recheck: Millis | undefined;
  for (const [index, pod] of pods.entries()) {
    if (endsStep(index)) yield;
    const phase = pod.status?.phase;
    if (phase === "Succeeded") over.push({ pod, how: "succeeded" });
    if (phase !== "Failed") continue;
    const wait = backoffOf(backoff, generation, now);
    if (wait > 0) {
      recheck = wait;
      continue;
    }
    over.push({ pod, how: "failed" });
    backoff = nextBackoff(backoff, generation, now);
  }
  return { ...nothing, leaving: over.map(({ pod }) => ({ pod })), over, backoff, recheck };
}

/** The pods to delete if a board has several: all but the oldest. */
function surplusOf(running: readonly Pod[]): readonly LeavingPod[] {
  const kept = oldestOf(running);
  return running.filter((pod) => pod !== kept).map((pod) => ({ pod }));
}

/** Surplus pods during an update with surge, in which a ready old pod is kept until the new one is available. */
function surplusWithSurge(
  running: readonly Pod[],
  board: Board,
  { hash, availability }: BoardContext,
  now: Instant,
): readonly LeavingPod[] {
  const isNew = ({ metadata }: Pod): boolean => metadata.labels?.[hashLabel] === hash;
  const newest = oldestOf(running.filter(isNew));
  const old = oldestOf(running.filter((pod) => !isNew(pod)));
  const others = running.filter((pod) => pod !== newest && pod !== old).map((pod) => ({ pod }));
  if (newest === undefined || old === undefined) return others;
  if (!isReady(old)) return [...others, ...leavingAsBroken(old, board)];
  return isAvailable(newest, availability, now) ? [...others, { pod: old }] : others;
}
