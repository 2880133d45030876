import type { Pod, Taint } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { taintKeys } from "../../api/taints.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { Grounds, Restraint, SilenceFacts } from "../../decisions/grounds.ts";
import { becauseText } from "../../decisions/sentences.ts";
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
import { heldUntil, type Link } from "../../judgement/link.ts";
import { isSilent, permitsHarm, type Verdict } from "../../judgement/verdict.ts";
import type { Decision } from "../../loop/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import type { RunningTaint } from "../node-lifecycle/zones/budget.ts";
import { setCondition } from "../set-condition.ts";
import type { EvictionHold } from "./thaw.ts";
import { deadlineOf, type EvictionTimer } from "./timer.ts";
import { identityOf, isDated, keyOfIdentity, limited, shortest, type Window, windowOf } from "./window.ts";

/** A pod and the state of its board. */
export type PodState =
  /** The pod is not in the cache. `released`: it left the site with its board, so another site emits its Events. */
  | { readonly kind: "gone"; readonly pod: ObjectRef; readonly released: boolean }
  | { readonly kind: "unbound"; readonly pod: Pod }
  /**
   * The board's Node is not in the cache. `fate`: whether the API still has it, which is asked only once it matters.
   */
  | {
      readonly kind: "orphan";
      readonly pod: Pod;
      readonly board: string;
      readonly fate: "not asked" | "released" | "deleted";
      readonly link: Link;
      readonly hold: EvictionHold | undefined;
    }
  | {
      readonly kind: "bound";
      readonly pod: Pod;
      readonly board: string;
      /** The NoExecute taints of its board. */
      readonly taints: readonly Taint[];
      /** The pod and taints were read from the API for this pass. */
      readonly isRead: boolean;
      /** The API no longer has the pod, which the cache still shows. */
      readonly isGone: boolean;
      /** The cached pod and taints are those of one moment, and the caches are up to date as far as the watches show. */
      readonly isInStep: boolean;
      /** The pod and taints may be those of a history that a restore of the server undid. */
      readonly mayBeFormer: boolean;
      /** Status of the board's Ready condition; undefined: there is none. */
      readonly ready: string | undefined;
      readonly link: Link;
      /** The current verdict on the board; undefined: this agent judges no boards. */
      readonly verdict: Verdict | undefined;
      /** Since when the board's silence counts; undefined: not known. */
      readonly silentSince: Instant | undefined;
      /** A freeze, or the wait for the board's turn after one; undefined: neither. */
      readonly hold: EvictionHold | undefined;
      /**
       * The board's taint as the former leader recorded it; undefined: not recorded, or no longer early in the term.
       */
      readonly inherited: RunningTaint | undefined;
    };

type EvictionSettings = Pick<NodeLifecycleSettings, "policy" | "gracePeriod">;

/** How soon a held deletion is checked again if the end of the hold is unknown. */
const recheck: Millis = 5000;
/** How long an accepted deletion may take to appear in the cache before it is sent again. */
const patience: Millis = 60_000;
/**
 * Backoff in ms after a refused deletion. It is retried as long as it is due, since the reason for the refusal may go
 * away (docs/kubernetes-rules.md#eviction-timers).
 */
const refusedRetry = { first: 5, most: 1_000_000 };
/** Backoff in ms after a conflict, when the pod is read from the API and a new decision is made. */
const overtakenRetry = { first: 20, most: 5000 };
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
      // One more pass without memory drops the key.
      const isCancelled = memory !== undefined && memory.sentAt === undefined && !state.released;
      return { ...(isCancelled ? cancelled(state.pod) : forgotten), requeueAfter: 0 };
    }
    case "unbound":
      return released(memory, state.pod);
    case "orphan":
      return decideOrphan(state, memory, settings, now);
    case "bound":
      return decideBound(
        state,
        memory?.uid === state.pod.metadata.uid ? withoutDoubt(memory) : undefined,
        settings,
        now,
      );
    default:
      return state satisfies never;
  }
}

/**
 * After a failed write the deletion is still due. After a refusal or a conflict the time of the retry is set here,
 * since no object that would enqueue the pod changes when the reason goes away. Other failures are left to the loop's
 * backoff.
 */
export function remember(
  decision: Decision<EvictionTimer | undefined>,
  outcomes: readonly Outcome[],
): Decision<EvictionTimer | undefined> {
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  const rest = { ...decision, actions: [] };
  if (decision.memory === undefined || failures.length === 0) return rest;
  const tries = decision.memory.tries + 1;
  const isRefused = failures.some((error) => dispositionOf(error) === "drop");
  const overtaken = failures.some(isConflict);
  const memory: EvictionTimer = { ...decision.memory, sentAt: undefined, tries, overtaken };
  if (isRefused) return { ...rest, memory, requeueAfter: backoff(tries, refusedRetry) };
  if (!overtaken) return { ...rest, memory };
  const events = tries === reportAfter ? outcomes.flatMap(tooBusy) : [];
  return { ...rest, memory, actions: events, requeueAfter: backoff(tries, overtakenRetry) };
}

const tooBusy = ({ action, ...outcome }: Outcome): readonly Action[] =>
  "target" in action && !outcome.ok && isConflict(outcome.error)
    ? [eventOn(anyStateOf(action.target), `Changes too often to be deleted, after ${reportAfter} tries: Pod`)]
    : [];

/** The timer with its doubt cleared: this pass read the current state from the API, which the caches might lack. */
const withoutDoubt = (timer: EvictionTimer): EvictionTimer => (timer.doubted ? { ...timer, doubted: false } : timer);

type Bound = Extract<PodState, { kind: "bound" }>;
type Orphan = Extract<PodState, { kind: "orphan" }>;

function decideBound(
  state: Bound,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { pod, taints } = state;
  const windows = taints.map((taint) => windowOf(taint, pod.spec?.tolerations));
  const length = shortest(windows);
  if (length === Number.POSITIVE_INFINITY) return released(memory, pod);
  const timer = timerOf(state, limited(windows), length, memory, now);
  if (deadlineOf(timer).mono > now.mono) return waiting(timer, now);
  const due = windows.filter(({ length }) => deadlineOf({ ...timer, length }).mono <= now.mono);
  const ofLifecycle = due.every(({ taint }) => isLifecycleKey(taint.key));
  const { link, verdict } = state;
  const isFromCaches = isAtOnce(timer, due) && state.isInStep;
  const isCertain = state.isRead || (!state.mayBeFormer && (ofLifecycle || isFromCaches));
  const keys = due.map(({ taint }) => taint.key);
  const grounds = groundsOf(timer, keys, silenceOf(state, now), now);
  const hold = ofLifecycle ? holdAt(state, now) : undefined;
  if (hold) return heldBack(pod, timer, { grounds, ...hold }, elapsed(now, hold.until));
  if (ofLifecycle && timer.former && verdict && isBack(state)) {
    return heldBack(pod, timer, { grounds, restraint: { why: "verdict", ...verdict } }, recheck);
  }
  const cause = due.every(({ taint }) => isOurs(taint.key, state.ready)) ? causeOf(state, due) : undefined;
  if (state.isGone) return { actions: [], memory: { ...timer, sentAt: now }, requeueAfter: patience };
  const isOfVersion = ofLifecycle || (state.isRead && timer.tries === 0);
  return evict(pod, timer, { isOfVersion, isCertain, cause, grounds, link, verdict, settings }, now);
}

/**
 * Whether the pod has to go as soon as it and the taints exist together. The caches then need to show no more than one
 * moment at which they did. Time to tolerate a taint, or a deletion that failed, gives them time to change.
 */
const isAtOnce = ({ tries, sentAt }: EvictionTimer, due: readonly Window[]): boolean =>
  tries === 0 && sentAt === undefined && due.some(({ length }) => length === 0);

/**
 * The timer of a pod. A window keeps its start as long as one of its taints remains; its length may change. Other
 * taints, or another board, start a new window. Swapping unreachable and not-ready does not, because the board is still
 * lost. A pod that does not tolerate its taint has a window of length 0.
 *
 * A window stored in an earlier term continues only for a taint with `timeAdded`. A taint without one, such as kubectl
 * sets, may have been removed and set again between the terms without any visible difference.
 */
function timerOf(
  { pod, board, inherited }: Bound,
  windows: readonly Window[],
  length: Millis,
  memory: EvictionTimer | undefined,
  now: Instant,
): EvictionTimer {
  const taints = windows.map(({ taint }) => identityOf(taint));
  const keepsStart = (timer: EvictionTimer): boolean =>
    taints.some((taint) => timer.taints.includes(taint) && (!timer.loaded || isDated(taint))) ||
    (!timer.loaded && isExchanged(timer.taints, taints));
  const same = memory !== undefined && memory.board === board && keepsStart(memory);
  const inheritedStart = same && !memory.carried ? undefined : runningSince(inherited, windows);
  const starts = [same ? memory.start : now, inheritedStart ?? now];
  const start = starts.reduce((first, other) => (other.mono < first.mono ? other : first));
  const isUnchanged = same && !memory.carried && memory.length === length && isSameSet(memory.taints, taints);
  if (isUnchanged) return memory.loaded ? { ...memory, loaded: false } : memory;
  const { uid } = pod.metadata;
  const anew = { former: inheritedStart !== undefined, sentAt: undefined, tries: 0, overtaken: false, doubted: false };
  const { former, sentAt, tries, overtaken, doubted } = same ? memory : anew;
  return {
    uid,
    board,
    start,
    length,
    taints,
    at: now,
    loaded: false,
    carried: false,
    former,
    sentAt,
    tries,
    overtaken,
    doubted,
  };
}

/**
 * Whether one of our two taints was swapped for the other. Not used between two terms, in which taints may have been
 * removed and added many times.
 */
function isExchanged(before: readonly string[], after: readonly string[]): boolean {
  const ours = (taints: readonly string[]): readonly string[] => taints.map(keyOfIdentity).filter(isLifecycleKey);
  const [had, has] = [ours(before), ours(after)];
  return had.length > 0 && has.length > 0 && !has.some((key) => had.includes(key));
}

/** When the taint began, according to the former leader; undefined if it recorded no taint, or a different one. */
const runningSince = (inherited: RunningTaint | undefined, windows: readonly Window[]): Instant | undefined =>
  inherited !== undefined &&
  windows.some(({ taint, length }) => length > 0 && taint.timeAdded === inherited.added && isLifecycleKey(taint.key))
    ? inherited.since
    : undefined;

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((entry) => b.includes(entry));

/**
 * Decides on a pod whose Node is not in the cache. Its timer keeps running, as in kube-controller-manager. When it
 * expires the API is asked, because a Node that only left the site took its pods with it.
 */
function decideOrphan(
  state: Orphan,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { pod, board, fate, link } = state;
  if (memory === undefined || memory.uid !== pod.metadata.uid || memory.board !== board) return forgotten;
  if (fate === "released") return forgotten;
  // The Node may be recreated without the taint before the timer expires, so the pod is checked more often.
  if (deadlineOf(memory).mono > now.mono) {
    return { actions: [], memory, requeueAfter: Math.min(recheck, elapsed(now, deadlineOf(memory))) };
  }
  if (fate === "not asked") return { actions: [], memory, requeueAfter: recheck };
  const ofLifecycle = memory.taints.length > 0 && memory.taints.every((taint) => isLifecycleKey(keyOfIdentity(taint)));
  const grounds = groundsOf(memory, memory.taints.map(keyOfIdentity), undefined, now);
  const hold = ofLifecycle ? holdAt(state, now) : undefined;
  if (hold) return heldBack(pod, memory, { grounds, ...hold }, elapsed(now, hold.until));
  const cause = ofLifecycle
    ? { board, verdict: "unproven", rule: "the toleration time ended after the Node was deleted" }
    : undefined;
  // The Node's deletion was confirmed by the API.
  const isCertain = true;
  const how = { isOfVersion: ofLifecycle, isCertain, cause, grounds, link, verdict: undefined, settings };
  return evict(pod, memory, how, now);
}

/**
 * The hold that currently applies to evictions because of our own taints; undefined if there is none. Taints set by
 * other clients are deliberate and never held.
 */
const holdAt = ({ hold }: Bound | Orphan, now: Instant): EvictionHold | undefined =>
  hold && isAfter(hold.until, now) ? hold : undefined;

/**
 * Whether the kubelet reports ready and no evidence contradicts it: in that case the next monitor pass removes the
 * taint. A new kube-controller-manager would remove it too, and start a new window if it came back. False if this agent
 * judges no boards, as nothing would remove the taint.
 */
const isBack = ({ ready, verdict }: Bound): boolean =>
  ready === "True" && verdict !== undefined && !permitsHarm(verdict, "evidence");

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
  memory: timer,
  requeueAfter,
  due: timer.sentAt === undefined ? dueOn(pod, grounds, restraint) : [],
});

/** The eviction of a pod as a due act; none if the pod is already being deleted. */
const dueOn = (pod: Pod, grounds: Grounds, restraint: Restraint | undefined): readonly DueAct[] =>
  isTerminating(pod) ? [] : [{ on: subjectOf(refOf(pod)), grounds, restraint }];

/** Deletes the pod, unless our own verdict is the reason and the link or the verdict does not permit it now. */
function evict(
  pod: Pod,
  timer: EvictionTimer,
  {
    isOfVersion,
    isCertain,
    cause,
    grounds,
    link,
    verdict,
    settings,
  }: {
    /** Only the version that was read is deleted: a pod changed since then survives. */
    readonly isOfVersion: boolean;
    /** False: the cached pod or taints may be outdated, and no precondition of the deletion would notice. */
    readonly isCertain: boolean;
    readonly cause: Cause | undefined;
    readonly grounds: Grounds;
    readonly link: Link;
    readonly verdict: Verdict | undefined;
    readonly settings: EvictionSettings;
  },
  now: Instant,
): Decision<EvictionTimer | undefined> {
  if (cause !== undefined) {
    const because = (restraint: Restraint, requeueAfter: Millis = recheck) =>
      heldBack(pod, timer, { grounds, restraint }, requeueAfter);
    if (!link.live) return because({ why: "not-live" });
    const quarantine = heldUntil(link, settings.gracePeriod, now);
    if (quarantine !== undefined) return because({ why: "quarantine" }, Math.max(1, elapsed(now, quarantine)));
    if (verdict && !permitsHarm(verdict, settings.policy)) return because({ why: "verdict", ...verdict });
  }
  if (timer.sentAt !== undefined && elapsed(timer.sentAt, now) < patience) {
    return { actions: [], memory: timer, requeueAfter: elapsed(now, shifted(timer.sentAt, patience)) };
  }
  // The taint may be gone, so it is read from the API first, with the pod. Until then the story of a held-back eviction
  // continues.
  if (!isCertain) {
    const due = dueOn(pod, grounds, undefined);
    return { actions: [], memory: { ...timer, doubted: true }, requeueAfter: 0, due };
  }
  const isFirst = timer.sentAt === undefined && timer.tries === 0;
  const events = isFirst ? [eventOn(refOf(pod), "Marking for deletion Pod", becauseText(grounds))] : [];
  /*
   * A request may arrive long after it was sent, under another leader. So for our own taints the target is only the
   * version that was read. A taint of another client applies to every version, so that a constantly changing pod does
   * not escape it; only the first deletion after a read names the version, for a toleration that came meanwhile.
   */
  const target = isOfVersion ? refTo(pods, pod) : refOf(pod);
  const marks = [...events, ...markDisrupted(pod, target, cause, now)];
  // A pod that is already being deleted still gets the condition, as in kube-controller-manager 1.36.
  if (isTerminating(pod)) return { actions: marks, memory: { ...timer, sentAt: now } };
  return {
    actions: [...marks, remove(target, cause, grounds)],
    memory: { ...timer, sentAt: now },
    requeueAfter: patience,
    // If the deletion meets a conflict, the story of a held-back eviction continues.
    due: dueOn(pod, grounds, undefined),
  };
}

/** Sets the DisruptionTarget condition, which must be written before the deletion. */
function markDisrupted(pod: Pod, target: ObjectRef, cause: Cause | undefined, now: Instant): readonly Action[] {
  const message = "Taint manager: deleting due to NoExecute taint";
  const condition = disruptionTarget(pod, { reason: "DeletionByTaintManager", message }, now);
  return condition === undefined ? [] : [setCondition(target, condition, cause)];
}

const remove = (target: ObjectRef, cause: Cause | undefined, grounds: Grounds): Action => ({
  do: "delete",
  target,
  grounds,
  ...(cause && { cause }),
});

const eventOn = (about: ObjectRef, what: string, why?: string): Action => ({
  do: "event",
  about,
  severity: "Normal",
  reason: "TaintManagerEviction",
  message: `${what} ${about.namespace}/${about.name}${why === undefined ? "" : `: ${why}`}`,
});

/** A reference to the pod in any version, for Events and for deletions that do not depend on its state. */
export const refOf = (pod: Pod): ObjectRef => anyStateOf(refTo(pods, pod));

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
  memory === undefined || memory.sentAt !== undefined ? forgotten : cancelled(refOf(pod));

const isLifecycleKey = (key: string): boolean => key === taintKeys.unreachable || key === taintKeys.notReady;

/** The facts for the record of an eviction. `taints`: the keys of the taints that the pod no longer tolerates. */
const groundsOf = (
  { board, start, length }: EvictionTimer,
  taints: readonly string[],
  silence: SilenceFacts | undefined,
  now: Instant,
): Grounds => ({
  act: "pod-evicted",
  board,
  because: {
    kind: "taints",
    taints,
    toleratedMs: length,
    ranMs: Math.round(elapsed(start, now)),
    ...(silence && { silence }),
  },
});

const silenceOf = ({ verdict, silentSince }: Bound, now: Instant): SilenceFacts | undefined =>
  verdict && {
    ...verdict,
    ...(silentSince && isSilent(verdict) && { silentMs: Math.round(elapsed(silentSince, now)) }),
  };

/** Whether a taint is our verdict: unreachable always, not-ready only if the board has fallen silent since. */
const isOurs = (key: string, ready: string | undefined): boolean =>
  key === taintKeys.unreachable || (key === taintKeys.notReady && ready === "Unknown");

const causeOf = ({ board, verdict }: Bound, due: readonly Window[]): Cause => ({
  board,
  verdict: verdict?.verdict ?? "unproven",
  rule: `the pod no longer tolerates ${due.map(({ taint }) => taint.key).join(", ")}`,
});
