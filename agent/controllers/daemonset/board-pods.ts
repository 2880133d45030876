import type { DaemonSet, Pod } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { type AvailabilityRule, isAvailable } from "./availability.ts";
import { type Board, type Leaving, leavingAsBroken } from "./board.ts";
import { byAge, hashLabel, isReady } from "./daemon-pod.ts";
import { backoffOf, type FailedBackoff, nextBackoff } from "./failed-pods.ts";
import { allowsSurge } from "./update-limits.ts";

/**
 * The changes that leave a board with the one pod that it should have
 * (docs/kubernetes-rules.md#daemon-pods-of-a-board).
 */
export interface BoardPlan {
  readonly create: boolean;
  readonly leaving: readonly Leaving[];
  /** Finished pods, reported by events. */
  readonly over: readonly { readonly pod: Pod; readonly how: "failed" | "succeeded" }[];
  readonly backoff: FailedBackoff | undefined;
  /** When to check again for a failed pod that is kept until its backoff ends. */
  readonly recheck: Millis | undefined;
}

export interface BoardContext {
  readonly set: DaemonSet;
  /** Hash of the present revision. */
  readonly hash: string;
  readonly availability: AvailabilityRule;
  readonly backoff: FailedBackoff | undefined;
}

const nothing: BoardPlan = { create: false, leaving: [], over: [], backoff: undefined, recheck: undefined };

/** `pods`: pods of the set that run on the board or are meant for it; undefined: none. */
export function planBoard(
  board: Board,
  pods: readonly Pod[] | undefined,
  context: BoardContext,
  now: Instant,
): BoardPlan {
  const plan = { ...nothing, backoff: context.backoff };
  if (board.run && pods === undefined) return { ...plan, create: true };
  const staying = (pods ?? []).filter((pod) => !isTerminating(pod));
  if (!board.stay) return { ...plan, leaving: staying.map((pod) => ({ pod })) };
  const over = planOver(staying, context, now);
  const running = staying.filter(({ status }) => status?.phase !== "Failed" && status?.phase !== "Succeeded");
  const surge = allowsSurge(context.set);
  const surplus = surge ? surplusWithSurge(running, board, context, now) : surplusOf(running);
  return {
    ...over,
    create: surge && board.run && running.length === 0,
    leaving: [...over.leaving, ...surplus],
  };
}

/** A failed pod is deleted with a growing delay, a succeeded one at once: a daemon should not have ended. */
function planOver(pods: readonly Pod[], { set, backoff }: BoardContext, now: Instant): BoardPlan {
  const generation = set.status?.observedGeneration ?? 0;
  let plan: BoardPlan = { ...nothing, backoff };
  for (const pod of pods) {
    const phase = pod.status?.phase;
    if (phase === "Succeeded") {
      plan = { ...plan, leaving: [...plan.leaving, { pod }], over: [...plan.over, { pod, how: "succeeded" }] };
    }
    if (phase !== "Failed") continue;
    const wait = backoffOf(plan.backoff, generation, now);
    plan =
      wait > 0
        ? { ...plan, recheck: wait }
        : {
            ...plan,
            leaving: [...plan.leaving, { pod }],
            over: [...plan.over, { pod, how: "failed" }],
            backoff: nextBackoff(plan.backoff, generation, now),
          };
  }
  return plan;
}

const surplusOf = (running: readonly Pod[]): readonly Leaving[] =>
  running
    .toSorted(byAge)
    .slice(1)
    .map((pod) => ({ pod }));

/** An old pod may stay beside the new one while it is ready and the new one is not yet available. */
function surplusWithSurge(
  running: readonly Pod[],
  board: Board,
  { hash, availability }: BoardContext,
  now: Instant,
): readonly Leaving[] {
  const inOrder = running.toSorted(byAge);
  const isNew = ({ metadata }: Pod): boolean => metadata.labels?.[hashLabel] === hash;
  const newest = inOrder.find(isNew);
  const old = inOrder.find((pod) => !isNew(pod));
  const others = inOrder.filter((pod) => pod !== newest && pod !== old).map((pod) => ({ pod }));
  if (newest === undefined || old === undefined) return others;
  if (!isReady(old)) return [...others, ...leavingAsBroken(old, board)];
  return isAvailable(newest, availability, now) ? [...others, { pod: old }] : others;
}
