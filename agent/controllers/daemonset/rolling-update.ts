import type { DaemonSet, Pod } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import type { Instant } from "../../base/clock.ts";
import { endsStep, mapEachInSteps, type Steps } from "../../base/steps.ts";
import { type AvailabilityRule, isAvailable, mayBeAvailable } from "./availability.ts";
import { type Board, type LeavingPod, leavingAsBroken, type PodsByBoard } from "./board.ts";
import { isUpdated } from "./daemon-pod.ts";
import { updateLimits } from "./update-limits.ts";

/** The writes of one step of an update (docs/kubernetes-rules.md#rolling-update). */
export interface UpdateStep {
  /** Boards that get a new pod in addition to their old one. */
  readonly create: readonly string[];
  readonly leaving: readonly LeavingPod[];
}

export interface UpdateContext {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly availability: AvailabilityRule;
}

/** The current use of the update's limits. */
export interface UpdateCount {
  readonly desired: number;
  readonly maxUnavailable: number;
  readonly maxSurge: number;
  /**
   * Number of boards that count against the limit: those with several pods of one template; without surge, also those
   * that do not have exactly one pod, or whose pod is not available; with surge, also those whose new pod is not
   * available yet while the old one exists.
   */
  readonly inProgress: number;
}

const none: UpdateStep = { create: [], leaving: [] };

export function* updateStep(
  boards: readonly Board[],
  pods: PodsByBoard,
  context: UpdateContext,
  now: Instant,
): Steps<{ readonly step: UpdateStep; readonly count: UpdateCount }> {
  const desired = boards.filter(({ run }) => run).length;
  const limits = updateLimits(context.set, desired);
  if (limits === undefined) {
    return { step: none, count: { desired, maxUnavailable: 0, maxSurge: 0, inProgress: 0 } };
  }
  const pairs = yield* pairsOf(boards, pods, context, now);
  const { step, inProgress } =
    limits.maxSurge === 0
      ? yield* replace(pairs, limits.maxUnavailable)
      : yield* surge(pairs, limits.maxSurge, desired);
  return { step, count: { desired, ...limits, inProgress } };
}

/** A board with its pods of the old and the new template. */
interface Pair {
  readonly name: string;
  /** The board as the set sees it; undefined if its Node does not exist. */
  readonly board: Board | undefined;
  /** Whether the board has two pods of the same template; the surplus one is deleted first. */
  readonly excess: boolean;
  readonly old: Found | undefined;
  readonly fresh: Found | undefined;
}

interface Found {
  readonly pod: Pod;
  readonly available: boolean;
}

/** Every board that should have a pod or has one, ordered by name so that the choice is stable between passes. */
function* pairsOf(
  boards: readonly Board[],
  pods: PodsByBoard,
  { set, hash, availability }: UpdateContext,
  now: Instant,
): Steps<readonly Pair[]> {
  const byName = new Map(boards.map((board) => [board.name, board]));
  const names = new Set([...boards.filter(({ run }) => run).map(({ name }) => name), ...pods.keys()]);
  yield;
  const inOrder = [...names].sort();
  yield;
  return yield* mapEachInSteps(inOrder, function* (name): Steps<Pair> {
    const [fresh, old]: [Pod[], Pod[]] = [[], []];
    for (const [index, pod] of (pods.get(name) ?? []).entries()) {
      if (endsStep(index)) yield;
      if (!isTerminating(pod)) (isUpdated(set, pod, hash) ? fresh : old).push(pod);
    }
    const found = ([pod]: readonly Pod[], check: typeof isAvailable): Found | undefined =>
      pod && { pod, available: check(pod, availability, now) };
    const excess = fresh.length > 1 || old.length > 1;
    return { name, board: byName.get(name), excess, fresh: found(fresh, isAvailable), old: found(old, mayBeAvailable) };
  });
}

/**
 * Update without surge: deletes unavailable old pods immediately, and available ones as far as the limit permits. As in
 * kube-controller-manager 1.36, unavailable pods count against the limit too.
 */
function* replace(pairs: readonly Pair[], maxUnavailable: number): Steps<{ step: UpdateStep; inProgress: number }> {
  const counted = pairs.filter((pair) => !isAbandoned(pair) && (pair.excess || !isOnlyAvailable(pair.fresh, pair.old)));
  yield;
  const onlyOld = pairs.filter(({ excess, fresh }) => !excess && fresh === undefined);
  yield;
  const broken = onlyOld.flatMap(({ old, board }) => (old && !old.available ? leavingAsBroken(old.pod, board) : []));
  const candidates = onlyOld.flatMap(({ old }) => (old?.available ? [{ pod: old.pod }] : []));
  const room = Math.max(0, maxUnavailable - counted.length);
  return { step: { create: [], leaving: [...broken, ...candidates.slice(0, room)] }, inProgress: counted.length };
}

/**
 * Whether the board's Node was deleted and its pods are all terminating, possibly for a long time, because there is no
 * kubelet to finish them. In kube-controller-manager such a board counts against the limit, and can block an update
 * until the pods are removed by hand.
 */
const isAbandoned = ({ board, excess, fresh, old }: Pair): boolean =>
  board === undefined && !excess && fresh === undefined && old === undefined;

/** Whether there is exactly one pod, and it is available. */
const isOnlyAvailable = (fresh: Found | undefined, old: Found | undefined): boolean =>
  (fresh === undefined) !== (old === undefined) && (fresh ?? old)?.available === true;

/**
 * Update with surge: creates the new pod in addition to the old one, and deletes the old one once the new one is
 * available. Unavailable old pods do not count against the limit.
 */
function* surge(
  pairs: readonly Pair[],
  maxSurge: number,
  desired: number,
): Steps<{ step: UpdateStep; inProgress: number }> {
  const clear = pairs.filter(({ excess }) => !excess);
  const inProgress = pairs.filter(({ excess, old, fresh }) => excess || (old && fresh && !fresh.available)).length;
  yield;
  const onlyOld = clear.flatMap(({ name, board, old, fresh }) => (old && !fresh ? [{ name, board, ...old }] : []));
  yield;
  const wanted = onlyOld.filter(({ board }) => board?.run === true);
  const unwanted = onlyOld.filter(({ board }) => board?.run !== true);
  const broken = unwanted.flatMap(({ available, pod, board }) => (available ? [] : leavingAsBroken(pod, board)));
  yield;
  const done = clear.flatMap(({ old, fresh }) => (old && fresh?.available ? [{ pod: old.pod }] : []));
  // If the set moves to other boards, an available pod is deleted only while enough other boards have an available one.
  const serving = clear.filter(({ old, fresh }) => (old ?? fresh)?.available).length;
  yield;
  const sunset = unwanted.filter(({ available }) => available).map(({ pod }) => ({ pod }));
  const atOnce = wanted.filter(({ available }) => !available).map(({ name }) => name);
  const inTurn = wanted.filter(({ available }) => available).map(({ name }) => name);
  return {
    step: {
      create: [...atOnce, ...inTurn.slice(0, Math.max(0, maxSurge - inProgress))],
      leaving: [...broken, ...done, ...sunset.slice(0, Math.max(0, serving - desired))],
    },
    inProgress,
  };
}
