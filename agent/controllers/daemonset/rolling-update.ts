import type { DaemonSet, Pod } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import type { Instant } from "../../base/clock.ts";
import { type AvailabilityRule, isAvailable, mayBeAvailable } from "./availability.ts";
import { type Board, type Leaving, leavingAsBroken, type PodsByBoard } from "./board.ts";
import { isUpdated } from "./daemon-pod.ts";
import { updateLimits } from "./update-limits.ts";

/** What takes an update one step further (docs/kubernetes-rules.md#rolling-update). */
export interface UpdateStep {
  /** Boards that get a new pod beside their old one. */
  readonly create: readonly string[];
  readonly leaving: readonly Leaving[];
}

export interface UpdateContext {
  readonly set: DaemonSet;
  readonly hash: string;
  readonly availability: AvailabilityRule;
}

/** What counts against the limits of an update, as it stands. */
export interface UpdateCount {
  readonly desired: number;
  readonly maxUnavailable: number;
  readonly maxSurge: number;
  /** Without surge: boards that lack an available pod. With surge: boards on which a new one is on its way. */
  readonly inProgress: number;
}

const none: UpdateStep = { create: [], leaving: [] };

export function updateStep(
  boards: readonly Board[],
  pods: PodsByBoard,
  context: UpdateContext,
  now: Instant,
): { readonly step: UpdateStep; readonly count: UpdateCount } {
  const desired = boards.filter(({ run }) => run).length;
  const limits = updateLimits(context.set, desired);
  if (limits === undefined) {
    return { step: none, count: { desired, maxUnavailable: 0, maxSurge: 0, inProgress: 0 } };
  }
  const pairs = pairsOf(boards, pods, context, now);
  const { step, inProgress } =
    limits.maxSurge === 0 ? replace(pairs, limits.maxUnavailable) : surge(pairs, limits.maxSurge, desired);
  return { step, count: { desired, ...limits, inProgress } };
}

/** A board with what it has of both templates. */
interface Pair {
  readonly name: string;
  /** undefined: there is no such Node. */
  readonly board: Board | undefined;
  /** It has two of either: its surplus goes first. */
  readonly excess: boolean;
  readonly old: Found | undefined;
  readonly fresh: Found | undefined;
}

interface Found {
  readonly pod: Pod;
  readonly available: boolean;
}

/** Every board that should have a pod, and every one that has; in the order of their names, so that it does not flap. */
function pairsOf(
  boards: readonly Board[],
  pods: PodsByBoard,
  { set, hash, availability }: UpdateContext,
  now: Instant,
): readonly Pair[] {
  const byName = new Map(boards.map((board) => [board.name, board]));
  const names = new Set([...boards.filter(({ run }) => run).map(({ name }) => name), ...pods.keys()]);
  return [...names].sort().map((name) => {
    const staying = (pods.get(name) ?? []).filter((pod) => !isTerminating(pod));
    const fresh = staying.filter((pod) => isUpdated(set, pod, hash));
    const old = staying.filter((pod) => !fresh.includes(pod));
    const found = ([pod]: readonly Pod[], asks: typeof isAvailable): Found | undefined =>
      pod && { pod, available: asks(pod, availability, now) };
    const excess = fresh.length > 1 || old.length > 1;
    return { name, board: byName.get(name), excess, fresh: found(fresh, isAvailable), old: found(old, mayBeAvailable) };
  });
}

/**
 * An old pod that is not available serves nobody and goes at once; of the others as many as the limit leaves. As
 * kube-controller-manager 1.36 does, the first count against the limit too.
 */
function replace(pairs: readonly Pair[], maxUnavailable: number): { step: UpdateStep; inProgress: number } {
  const counted = pairs.filter((pair) => !isAbandoned(pair) && (pair.excess || !isOnlyAvailable(pair.fresh, pair.old)));
  const onlyOld = pairs.filter(({ excess, fresh }) => !excess && fresh === undefined);
  const broken = onlyOld.flatMap(({ old, board }) => (old && !old.available ? leavingAsBroken(old.pod, board) : []));
  const candidates = onlyOld.flatMap(({ old }) => (old?.available ? [{ pod: old.pod }] : []));
  const room = Math.max(0, maxUnavailable - counted.length);
  return { step: { create: [], leaving: [...broken, ...candidates.slice(0, room)] }, inProgress: counted.length };
}

/**
 * Its Node was deleted, and what is left there is on its way out, which it may be for long: nobody is there to end it. In
 * kube-controller-manager it counts, and can hold up an update until somebody removes it.
 */
const isAbandoned = ({ board, excess, fresh, old }: Pair): boolean =>
  board === undefined && !excess && fresh === undefined && old === undefined;

/** One pod, and that one serves. */
const isOnlyAvailable = (fresh: Found | undefined, old: Found | undefined): boolean =>
  (fresh === undefined) !== (old === undefined) && (fresh ?? old)?.available === true;

/**
 * A new pod comes beside the old one, which goes once the new one is available. Where the old one is broken anyway the
 * limit does not count.
 */
function surge(pairs: readonly Pair[], maxSurge: number, desired: number): { step: UpdateStep; inProgress: number } {
  const clear = pairs.filter(({ excess }) => !excess);
  const inProgress = pairs.filter(({ excess, old, fresh }) => excess || (old && fresh && !fresh.available)).length;
  const onlyOld = clear.flatMap(({ name, board, old, fresh }) => (old && !fresh ? [{ name, board, ...old }] : []));
  const wanted = onlyOld.filter(({ board }) => board?.run === true);
  const unwanted = onlyOld.filter(({ board }) => board?.run !== true);
  const broken = unwanted.flatMap(({ available, pod, board }) => (available ? [] : leavingAsBroken(pod, board)));
  const done = clear.flatMap(({ old, fresh }) => (old && fresh?.available ? [{ pod: old.pod }] : []));
  // Where the set moves to other boards, the pods that serve here stay until as many serve there.
  const serving = clear.filter(({ old, fresh }) => (old ?? fresh)?.available).length;
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
