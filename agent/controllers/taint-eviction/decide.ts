import type { Pod } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isPostponed } from "../../base/postponed.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { Grounds, Restraint } from "../../decisions/grounds.ts";
import { becauseText, restraintText } from "../../decisions/sentences.ts";
import {
  type Action,
  anyStateOf,
  type Cause,
  isConflict,
  type ObjectRef,
  type Outcome,
  refTo,
  subjectOf,
} from "../../execution/actions.ts";
import { reasonToStay } from "../../judgement/gain.ts";
import { type Ruling, rulingOf } from "../../judgement/ruling.ts";
import type { Decision } from "../../loop/controller.ts";
import type { ValveNow } from "../safety-valve.ts";
import { doubted, failed, isUntried, postponed, sent } from "./deletion.ts";
import {
  type DueEviction,
  dueEviction,
  type EvictionSettings,
  groundsOf,
  holdAt,
  orphanEviction,
  ownTimer,
  quarantineOn,
} from "./due-eviction.ts";
import { eventOn, markDisrupted, refOf, remove } from "./eviction-actions.ts";
import type { BoundPod, OrphanPod, PodState } from "./pod-state.ts";
import { deadlineOf, type EvictionTimer, isOfEarlierTerm, isOfOwnTaints, isSent, ranFor } from "./timer.ts";

/** How soon a held deletion is checked again if the end of the hold is unknown. */
const recheck: Millis = 5000;
/** The same while the safety valve is shut: `soonest` if it may open at any moment. */
const shutRecheck = { soonest: 30_000, latest: 300_000 } as const;
/**
 * How soon the gain of an eviction is checked again: `soon` if another board may become able to take the pod. A change
 * of the pod or of its board's taints enqueues the key; changes of other boards and of a namespace's annotation do not.
 */
const gainRecheck = { soon: 30_000, later: 180_000 } as const;
/**
 * How long a change of leader may take until the new leader's caches are filled. A pod that has been due for longer was
 * already due under the previous leader.
 */
const handover: Millis = 180_000;
/** How long an accepted deletion may take to appear in the cache before it is sent again. */
const patience: Millis = 60_000;
/**
 * Backoff in ms after a refused deletion. It is retried as long as it is due, because the reason for the refusal may
 * disappear (docs/kubernetes-rules.md#eviction-timers).
 */
const refusedRetry = { first: 5, max: 1_000_000 };
/** Backoff in ms after a conflict, when the pod is read from the API and a new decision is made. */
const conflictRetry = { first: 20, max: 5000 };
/** Number of conflicts in a row, within about 14 s, after which an Event reports them. */
const reportAfter = 10;

export function decide(
  state: PodState,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  switch (state.kind) {
    case "gone": {
      // Another pass without memory drops the key.
      const isCancelled = memory !== undefined && !isSent(memory) && !state.released;
      return { ...(isCancelled ? cancelled(state.pod) : forgotten), requeueAfter: 0 };
    }
    case "unbound":
      return released(memory, state.pod);
    case "orphan":
      return decideOrphan(state, memory, settings, now);
    case "bound":
      return decideBound(state, ownTimer(state, memory), settings, now);
    default:
      return state satisfies never;
  }
}

/**
 * After a failed write the deletion is still due. After a refusal or a conflict, the time of the retry is set here,
 * because no object that would enqueue the pod changes when the reason disappears. Other failures are left to the
 * loop's backoff.
 */
export function remember(
  decision: Decision<EvictionTimer | undefined>,
  outcomes: readonly Outcome[],
): Decision<EvictionTimer | undefined> {
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  const rest = { ...decision, actions: [] };
  const timer = decision.memory;
  if (timer === undefined || failures.length === 0) return rest;
  if (failures.some(isPostponed)) {
    return { ...rest, memory: { ...timer, deletion: postponed(timer.deletion) }, requeueAfter: recheck };
  }
  const metConflict = failures.some(isConflict);
  const deletion = failed(timer.deletion, { metConflict, isOfOwnTaints: isOfOwnTaints(timer) });
  const memory: EvictionTimer = { ...timer, deletion };
  const isRefused = failures.some((error) => dispositionOf(error) === "drop");
  if (isRefused) return { ...rest, memory, requeueAfter: backoff(deletion.failures, refusedRetry) };
  if (!metConflict) return { ...rest, memory };
  const events = deletion.failures === reportAfter ? outcomes.flatMap(tooBusy) : [];
  return { ...rest, memory, actions: events, requeueAfter: backoff(deletion.failures, conflictRetry) };
}

const tooBusy = ({ action, ...outcome }: Outcome): readonly Action[] =>
  "target" in action && !outcome.ok && isConflict(outcome.error)
    ? [eventOn(anyStateOf(action.target), `Changes too often to be deleted, after ${reportAfter} tries: Pod`)]
    : [];

function decideBound(
  state: BoundPod,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const due = dueEviction(state, memory, settings, now);
  if (due === undefined) return released(memory, state.pod);
  return "keys" in due ? decideDue(state, due, settings, now) : waiting(due.timer, now);
}

/**
 * Decides on a pod whose Node is not in the cache. Its timer keeps running, as in kube-controller-manager. When it
 * expires, the API is asked, because a Node that merely left the site took its pods with it.
 */
function decideOrphan(
  state: OrphanPod,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { pod, board, fate } = state;
  if (memory === undefined || memory.uid !== pod.metadata.uid || memory.board !== board) return forgotten;
  if (fate === "released") return forgotten;
  // The Node may be recreated without the taint before the timer expires, so the pod is checked more often.
  if (ranFor(memory, now) < memory.length) {
    return { actions: [], memory, requeueAfter: Math.min(recheck, elapsed(now, deadlineOf(memory))) };
  }
  if (fate === "not asked") return { actions: [], memory, requeueAfter: recheck };
  return decideDue(state, orphanEviction(state, memory, now), settings, now);
}

function decideDue(
  state: BoundPod | OrphanPod,
  due: DueEviction,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { pod } = state;
  const { timer, basis, cause } = due;
  const grounds = groundsOf(state, due, settings, now);
  const ruling = rulingOf(grounds);
  const wait = waitOf(ruling, due, state, settings, now);
  if (wait) {
    const { restraint, recheckAfter } = wait;
    return restraint.why === "no-gain"
      ? kept(pod, timer, { grounds, restraint }, recheckAfter, now)
      : heldBack(pod, timer, { grounds, restraint }, recheckAfter);
  }
  const isRead = state.kind === "bound" && state.isRead;
  if (isRead && state.isGone) {
    return { actions: [], memory: { ...timer, deletion: sent(timer.deletion, now) }, requeueAfter: patience };
  }
  // The first deletion after a read requires the version that was read, in case a toleration has been added since.
  const isOfVersion = basis !== "order" || (isRead && timer.deletion.failures === 0);
  return evict(pod, timer, { isOfVersion, isCertain: ruling === "act", cause, grounds }, now);
}

/** Why an eviction waits, and how soon it is decided again. */
interface Wait {
  readonly restraint: Restraint;
  readonly recheckAfter: Millis;
}

/** Why the ruling makes an eviction wait, and how soon it is decided again; undefined if nothing holds it. */
function waitOf(
  ruling: Ruling,
  { gate }: DueEviction,
  state: BoundPod | OrphanPod,
  settings: EvictionSettings,
  now: Instant,
): Wait | undefined {
  const { silence = undefined, missed = undefined, move = undefined } = state.kind === "bound" ? state : {};
  const recheckAt = (end: Instant): Millis => Math.max(1, elapsed(now, end));
  switch (ruling) {
    case "freeze":
    case "turn": {
      const hold = holdAt(state, now);
      return hold && { restraint: hold.restraint, recheckAfter: recheckAt(hold.until) };
    }
    case "not-live":
    case "report":
      return { restraint: { why: ruling }, recheckAfter: recheck };
    case "quarantine": {
      // The end is unknown for a board that missed earlier respites.
      const end = missed ? undefined : quarantineOn(state, settings, now);
      return { restraint: { why: ruling }, recheckAfter: end ? recheckAt(end) : recheck };
    }
    case "verdict": {
      const known = gate.confirmed === "heard" ? heardSince : silence;
      return known && { restraint: { why: ruling, verdict: known.verdict, rule: known.rule }, recheckAfter: recheck };
    }
    case "no-gain": {
      const reason = move && reasonToStay(move);
      // A volume rarely becomes usable elsewhere, and each check may read its claim again.
      const isShort = move?.obstacle !== undefined && move.obstacle !== "volume";
      const recheckAfter = isShort ? gainRecheck.soon : gainRecheck.later;
      return reason && { restraint: { why: ruling, reason, ...(move.of && { of: move.of }) }, recheckAfter };
    }
    case "valve":
      return state.shut && { restraint: state.shut.restraint, recheckAfter: untilOpen(state.shut, now) };
    case "act":
    case "not-due":
    case "zone":
      return undefined;
    default:
      return ruling satisfies never;
  }
}

const heardSince = {
  verdict: "alive",
  rule: "the board has given a sign of life since an operator confirmed it dead",
} as const;

/**
 * The eviction is held back; it counts as due unless the pod is already being deleted. A freeze that is lifted early
 * enqueues the key.
 */
const heldBack = (
  pod: Pod,
  timer: EvictionTimer,
  { grounds, restraint }: { readonly grounds: Grounds; readonly restraint: Restraint },
  requeueAfter: Millis,
): Decision<EvictionTimer> => ({
  actions: [],
  memory: { ...timer, isTerminating: isTerminating(pod) },
  requeueAfter,
  due: isSent(timer) ? [] : dueOn(pod, grounds, restraint),
});

/**
 * The pod stays, because an eviction would gain nothing. An Event says so, once for each reason; if the pod has been
 * due since an earlier term, the leader of that term has sent the first one.
 */
function kept(
  pod: Pod,
  timer: EvictionTimer,
  hold: { readonly grounds: Grounds; readonly restraint: Extract<Restraint, { readonly why: "no-gain" }> },
  recheckAfter: Millis,
  now: Instant,
): Decision<EvictionTimer> {
  const { restraint } = hold;
  const { reason } = restraint;
  const isOld = isOfEarlierTerm(timer) && ranFor(timer, now) > timer.length + handover;
  const isExplained = timer.explained === reason || (timer.explained === undefined && isOld);
  return {
    ...heldBack(pod, { ...timer, explained: reason }, hold, recheckAfter),
    actions: isExplained ? [] : [eventOn(refOf(pod), "Not deleting Pod", restraintText(restraint))],
  };
}

/** The eviction of a pod as a due act; none if the pod is already being deleted. */
const dueOn = (pod: Pod, grounds: Grounds, restraint: Restraint | undefined): readonly DueAct[] =>
  isTerminating(pod) ? [] : [{ on: subjectOf(refOf(pod)), grounds, restraint }];

/** Deletes the pod, which nothing holds back. */
function evict(
  pod: Pod,
  timer: EvictionTimer,
  {
    isOfVersion,
    isCertain,
    cause,
    grounds,
  }: {
    /** True if only the version that was read is deleted, so that a pod changed since then is kept. */
    readonly isOfVersion: boolean;
    /** False if the cached pod or taints may be outdated and no precondition of the deletion would detect that. */
    readonly isCertain: boolean;
    readonly cause: Cause | undefined;
    readonly grounds: Grounds;
  },
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { sentAt } = timer.deletion;
  if (sentAt !== undefined && elapsed(sentAt, now) < patience) {
    return { actions: [], memory: timer, requeueAfter: elapsed(now, shifted(sentAt, patience)) };
  }
  // The taint may be gone, so it is read from the API first, with the pod. Until then the decision record of a withheld
  // eviction stays open.
  if (!isCertain) {
    const due = dueOn(pod, grounds, undefined);
    return { actions: [], memory: { ...timer, deletion: doubted(timer.deletion) }, requeueAfter: 0, due };
  }
  const events = isUntried(timer.deletion)
    ? [eventOn(refOf(pod), "Marking for deletion Pod", becauseText(grounds))]
    : [];
  /*
   * A request may arrive long after it was sent, under another leader. Therefore, for our own taints, the target is
   * only the version that was read. A taint of another client applies to every version; otherwise, a constantly
   * changing pod would escape it. Only the first deletion after a read requires that version, in case a toleration has
   * been added since.
   */
  const target = isOfVersion ? refTo(pods, pod) : refOf(pod);
  const marks = [...events, ...markDisrupted(pod, target, cause, now)];
  // A pod that is already being deleted still gets the condition, as in kube-controller-manager 1.36.
  const memory = { ...timer, deletion: sent(timer.deletion, now) };
  if (isTerminating(pod)) return { actions: marks, memory };
  return {
    actions: [...marks, remove(target, cause, grounds)],
    memory,
    requeueAfter: patience,
    // If the deletion meets a conflict, the story of a held-back eviction continues.
    due: dueOn(pod, grounds, undefined),
  };
}

/**
 * How soon an eviction that the safety valve holds is decided again. Thousands may be held, so this is not more often
 * than the valve can open by itself; a release enqueues the key.
 */
const untilOpen = ({ until }: NonNullable<ValveNow["shut"]>, now: Instant): Millis =>
  until === undefined ? shutRecheck.soonest : Math.min(shutRecheck.latest, Math.max(recheck, elapsed(now, until)));

const waiting = (timer: EvictionTimer, now: Instant): Decision<EvictionTimer> => ({
  actions: [],
  memory: timer,
  requeueAfter: elapsed(now, deadlineOf(timer)),
});

const forgotten: Decision<undefined> = { actions: [], memory: undefined };

const cancelled = (pod: ObjectRef): Decision<undefined> => ({
  actions: [eventOn(pod, "Cancelling deletion of Pod")],
  memory: undefined,
});

/** Ends the timer: no taint limits the pod's stay any longer. */
const released = (memory: EvictionTimer | undefined, pod: Pod): Decision<undefined> =>
  memory === undefined || isSent(memory) ? forgotten : cancelled(refOf(pod));
