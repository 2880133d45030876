import type { Pod } from "../../api/core.ts";
import { boardOf, isFinished } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { maxHeldCounted } from "../../base/text/held-count.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { Confirmed, Grounds, SilenceFacts } from "../../decisions/grounds.ts";
import {
  type Action,
  anyStateOf,
  type Cause,
  type Outcome,
  overtakenBy,
  refTo,
  subjectOf,
} from "../../execution/actions.ts";
import { rulingOf } from "../../judgement/ruling.ts";
import type { Decision } from "../../loop/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";
import { type Confirmer, confirmedCause } from "../node-lifecycle/out-of-service/mark.ts";
import { harmlessIfNew, type ShutOn, valveFactsOn } from "../safety-valve.ts";

/** Memory between passes. */
export interface GcMemory {
  /** Boards named by pods that have no Node in the cache, each with the time from which the API may be queried. */
  readonly waiting: ReadonlyMap<string, Instant>;
  /** When the next pass is due; undefined if none has run. */
  readonly passAt: Instant | undefined;
  /** Keys of pods whose deletion met a conflict, because they changed after we read them. */
  readonly overtaken: ReadonlySet<string>;
  /** The deletions that the last pass left to later ones, because the safety valve is shut. */
  readonly held: readonly DueAct[];
}

export const firstGcMemory: GcMemory = { waiting: new Map(), passAt: undefined, overtaken: new Set(), held: [] };

export type GcState =
  /** The key was enqueued between two passes; nothing is due. */
  | { readonly kind: "idle" }
  /** The boards have not been checked in this term; their first check starts at the same time as this controller. */
  | { readonly kind: "unchecked" }
  /** Nothing may be deleted now. `why`: the reason, such as an outage of the link. */
  | { readonly kind: "paused"; readonly why: string }
  /**
   * Between two passes: the pods whose deletion met a conflict and that still have to be deleted, as read from the API.
   */
  | ({ readonly kind: "retryConflicts" } & Pick<GcPass, "outOfService" | "orphans" | "shut">)
  | GcPass;

export interface GcPass {
  readonly kind: "pass";
  /** Terminated pods above the threshold, in the order of their deletion. */
  readonly ended: readonly Pod[];
  /** Terminating pods on boards that are out of service. */
  readonly outOfService: readonly Abandoned[];
  /** Boards that pods name and that have no Node in the cache. */
  readonly missing: readonly string[];
  /** For each missing board that is due, whether the API has its Node; "unanswered" if the API did not respond. */
  readonly lookups: ReadonlyMap<string, "deleted" | "exists" | "unanswered">;
  /** Whether the safety valve is shut for a namespace; the pods of deleted boards are then kept. */
  readonly shut: ShutOn;
  /** Pods of the boards that were deleted. */
  readonly orphans: readonly Orphans[];
  /** Terminating pods that were never bound. */
  readonly unbound: readonly Pod[];
}

export interface Abandoned {
  readonly pod: Pod;
  /**
   * Set if an operator confirmed the board dead, so that our own taint has it out of service: whether the board has
   * given a sign of life since, as read from the API, our verdict on it, and who confirmed it.
   */
  readonly word?: {
    readonly confirmed: Confirmed;
    readonly silence: SilenceFacts | undefined;
    readonly confirmer: Confirmer | undefined;
  };
}

export interface Orphans {
  readonly board: string;
  readonly pods: readonly Pod[];
  /** Whether the board has more pods than fit into this pass. */
  readonly hasMore: boolean;
}

/** Interval between passes, and the time that a board must be missing first; both as in kube-controller-manager. */
const period: Millis = 20_000;
const quarantine: Millis = 40_000;
/** Interval at which a pass waits for the first check of the boards. */
const untilChecked: Millis = 1000;
/** Puts a board behind all others that are due now. */
const behind: Millis = 1;

/** Whether the API may be queried about a missing board; `from`: the time in `waiting`. */
export const isDue = (from: Instant | undefined, now: Instant): boolean => from !== undefined && from.mono <= now.mono;

export function decide(state: GcState, memory: GcMemory, now: Instant): Decision<GcMemory> {
  switch (state.kind) {
    case "idle":
      return { actions: [], memory, requeueAfter: untilPass(memory, now), due: memory.held };
    case "unchecked":
      return { actions: [], memory, requeueAfter: untilChecked };
    case "retryConflicts": {
      const orphans = permitted(state.orphans, state.shut);
      const actions = collect({ ended: [], unbound: [], ...state, orphans }, now);
      const next = { ...memory, overtaken: new Set<string>() };
      return { actions, memory: next, requeueAfter: untilPass(memory, now), due: memory.held };
    }
    case "paused":
      // Boards may have been missing only because the link was down, so their quarantine starts over.
      return { actions: [], memory: { ...firstGcMemory, passAt: shifted(now, period) }, requeueAfter: period };
    case "pass": {
      const toGo = { ...state, orphans: permitted(state.orphans, state.shut) };
      const held = heldDeletions(state.orphans, state.shut);
      const waiting = nextWaiting(toGo, memory, now);
      const next: GcMemory = { waiting, passAt: shifted(now, period), overtaken: new Set(), held };
      return { actions: collect(toGo, now), memory: next, requeueAfter: period, due: held };
    }
    default:
      return state satisfies never;
  }
}

/**
 * The pods whose deletion the safety valve permits. If others are left, the board stays due, so that the next pass
 * examines its pods again.
 */
const permitted = (orphans: readonly Orphans[], shut: ShutOn): readonly Orphans[] =>
  orphans.map(({ board, pods: found, hasMore }) => {
    const next = found.filter((pod) => rulingOf(orphaned(pod, board, shut)) === "act");
    return { board, pods: next, hasMore: hasMore || next.length < found.length };
  });

/** The deletions that the safety valve holds, at most `maxHeldCounted`. */
function heldDeletions(orphans: readonly Orphans[], shut: ShutOn): readonly DueAct[] {
  const held: DueAct[] = [];
  for (const { board, pods: found } of orphans) {
    for (const pod of found) {
      if (held.length === maxHeldCounted) return held;
      const grounds = orphaned(pod, board, shut);
      if (rulingOf(grounds) !== "valve") continue;
      held.push({ on: subjectOf(refTo(pods, pod)), grounds, restraint: shut(pod.metadata.namespace)?.restraint });
    }
  }
  return held;
}

/** The grounds for deleting a pod whose board has no Node. */
const orphaned = (pod: Pod, board: string, shut: ShutOn): Grounds => ({
  act: "pod-collected",
  board,
  because: { kind: "node-deleted" },
  gate: valveFactsOn(pod, shut(pod.metadata.namespace)),
});

/** The grounds for deleting a pod whose board is out of service. */
const abandoned = ({ pod, word }: Abandoned): Grounds => ({
  act: "pod-collected",
  board: boardOf(pod) ?? "",
  because: { kind: "out-of-service", ...word?.confirmer, ...(word?.silence && { silence: word.silence }) },
  gate: word ? { confirmed: word.confirmed } : {},
});

const untilPass = ({ passAt }: GcMemory, now: Instant): Millis =>
  Math.max(1, passAt === undefined ? 0 : elapsed(now, passAt));

/**
 * Remembers the deletions that met a conflict. The retry of the key repeats them, so a constantly changing pod is
 * retried no more often than the loop's backoff permits. Other failed deletions are repeated in the next pass, if still
 * needed.
 */
export const remember = (decision: Decision<GcMemory>, outcomes: readonly Outcome[]): Decision<GcMemory> => ({
  ...decision,
  actions: [],
  memory: { ...decision.memory, overtaken: overtakenBy(outcomes, pods) },
});

/**
 * The waiting times of the boards that are missing now. A board waits for `quarantine` from the pass that first missed
 * it, and again from each pass that queried the API about it, as long as pods name it. A board whose pods did not all
 * fit into this pass stays due; if some of them did, boards that are already due come before it.
 */
function nextWaiting(
  { missing, lookups, orphans }: GcPass,
  memory: GcMemory,
  now: Instant,
): ReadonlyMap<string, Instant> {
  const unfinished = new Map(orphans.filter(({ hasMore }) => hasMore).map(({ board, pods }) => [board, pods.length]));
  const waiting = new Map<string, Instant>();
  for (const board of missing) {
    const from = memory.waiting.get(board);
    const deleted = unfinished.get(board);
    if (from !== undefined && (!lookups.has(board) || deleted === 0)) waiting.set(board, from);
    else waiting.set(board, deleted === undefined ? shifted(now, quarantine) : shifted(now, behind));
  }
  return waiting;
}

/** The deletions, in kube-controller-manager's order. A pod found by two rules is deleted by the first. */
function collect(
  {
    ended,
    outOfService,
    orphans,
    unbound,
    shut,
  }: Pick<GcPass, "ended" | "outOfService" | "orphans" | "unbound" | "shut">,
  now: Instant,
): readonly Action[] {
  const seen = new Set<string>();
  const actions: Action[] = [];
  const remove = (pod: Pod, why: Why): void => {
    if (seen.has(pod.metadata.uid)) return;
    seen.add(pod.metadata.uid);
    actions.push(...failAndDelete(pod, why, now));
  };
  for (const found of outOfService) {
    const grounds = abandoned(found);
    if (rulingOf(grounds) === "act") remove(found.pod, { regardlessOfVersion: false, grounds });
  }
  for (const { board, pods: found } of orphans) {
    for (const pod of found) remove(pod, { regardlessOfVersion: false, grounds: orphaned(pod, board, shut) });
  }
  for (const pod of unbound) remove(pod, { regardlessOfVersion: true });
  // Last, because these pods keep nothing from running: the deletions of a pass take their turns with all requests.
  for (const pod of ended) remove(pod, { regardlessOfVersion: true });
  return actions;
}

/** Why a pod is deleted. */
interface Why {
  /**
   * The pod can never run again, so its uid is enough as a precondition. Otherwise the pod is deleted because of its
   * board's state, and only in the version that was read, because the board may return before the request arrives.
   */
  readonly regardlessOfVersion: boolean;
  /** The grounds, if the state of the pod's board is the reason; absent if the pod's own state is. */
  readonly grounds?: Grounds;
}

/**
 * Sets the phase Failed before the deletion, so that controllers that count pods do not count it as running; no kubelet
 * is left to set the phase. If that write fails the pod is not deleted, because the executor skips the actions that
 * follow a failed one on the same object.
 */
function failAndDelete(pod: Pod, { regardlessOfVersion, grounds }: Why, now: Instant): readonly Action[] {
  const target = regardlessOfVersion ? anyStateOf(refTo(pods, pod)) : refTo(pods, pod);
  const board = boardOf(pod) ?? "";
  const isOrphan = grounds?.because.kind === "node-deleted";
  const cause = isOrphan ? orphanCause(pod, board) : grounds?.gate.confirmed && confirmedCause(board);
  const deletion: Action = {
    do: "delete",
    target,
    gracePeriodSeconds: 0,
    ...(cause && { cause }),
    ...(grounds && { grounds }),
  };
  if (isFinished(pod)) return [deletion];
  const { generation } = pod.metadata;
  const condition = isOrphan ? disruptionTarget(pod, whyOrphaned, now) : undefined;
  const status = {
    phase: "Failed",
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(condition && { conditions: [condition] }),
  };
  const failing: Action = {
    do: "patch",
    target,
    type: "strategic",
    patch: { status },
    subresource: "status",
    ...(cause && { cause }),
  };
  return [failing, deletion];
}

const orphanCause = (pod: Pod, board: string): Cause => ({
  board,
  verdict: "deleted",
  rule: "its Node no longer exists",
  ...harmlessIfNew(pod),
});

const whyOrphaned = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
