import type { Pod } from "../../api/core.ts";
import { isTerminating, wasAcceptedByKubelet } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { isLifecycleKey } from "../../api/taints.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import { isPostponed } from "../../base/postponed.ts";
import type { DueAct } from "../../decisions/decision-record.ts";
import type { Confirmed, GateFacts, Grounds, Restraint, SilenceFacts } from "../../decisions/grounds.ts";
import { becauseText, restraintText } from "../../decisions/sentences.ts";
import {
  type Action,
  anyStateOf,
  type Cause,
  isConflict,
  isEvictionOfLifecycle,
  type ObjectRef,
  type Outcome,
  refTo,
  subjectOf,
} from "../../execution/actions.ts";
import { reasonToStay } from "../../judgement/gain.ts";
import { latestQuarantineEnd } from "../../judgement/link.ts";
import { isCausedByUs, isOperatorConfirmed, type Ruling, rulingOf } from "../../judgement/ruling.ts";
import type { Decision } from "../../loop/controller.ts";
import { readyFact } from "../node-lifecycle/health.ts";
import { confirmedCause } from "../node-lifecycle/out-of-service.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { harmlessIfNew, type ValveNow, valveFactsOn } from "../safety-valve.ts";
import { eventOn, markDisrupted, refOf, remove } from "./eviction-actions.ts";
import type { PodState } from "./pod-state.ts";
import type { EvictionHold } from "./thaw.ts";
import { deadlineOf, type EvictionTimer, isOfOwnTaints, ranFor, timerOf } from "./timer.ts";
import { finiteTimes, keyOfIdentity, minLength, type TolerationTime, tolerationTimeFor } from "./toleration-time.ts";

type EvictionSettings = Pick<NodeLifecycleSettings, "policy" | "gracePeriod">;

/** How soon a held deletion is checked again if the end of the hold is unknown. */
const recheck: Millis = 5000;
/** The same while the safety valve is shut: `soonest` if it may open at any moment. */
const shutRecheck = { soonest: 30_000, latest: 300_000 } as const;
/**
 * How soon it is checked again whether an eviction would gain something: `soon` if another board may become able to take
 * the pod. A change of the pod or of its board's taints enqueues the key; other boards and the annotation of a namespace
 * do not.
 */
const gainRecheck = { soon: 30_000, later: 180_000 } as const;
/** How long the site may be without a leader, and a new one without its caches, when a pod becomes due. */
const handover: Millis = 180_000;
/** How long an accepted deletion may take to appear in the cache before it is sent again. */
const patience: Millis = 60_000;
/**
 * Backoff in ms after a refused deletion. It is retried as long as it is due, because the reason for the refusal may
 * disappear (docs/kubernetes-rules.md#eviction-timers).
 */
const refusedRetry = { first: 5, max: 1_000_000 };
/** Backoff in ms after a conflict, when the pod is read from the API and a new decision is made. */
const overtakenRetry = { first: 20, max: 5000 };
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
      const isCancelled = memory !== undefined && memory.sentAt === undefined && !state.released;
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
  if (decision.memory !== undefined && failures.some(isPostponed)) {
    return { ...rest, memory: { ...decision.memory, sentAt: undefined }, requeueAfter: recheck };
  }
  if (decision.memory === undefined || failures.length === 0) return rest;
  const tries = decision.memory.tries + 1;
  const isRefused = failures.some((error) => dispositionOf(error) === "drop");
  const overtaken = failures.some(isConflict);
  // The next attempt would be doubted. Doubting it in a separate pass would end the backoff, because that pass
  // succeeds.
  const doubted = !isOfOwnTaints(decision.memory);
  const memory: EvictionTimer = { ...decision.memory, sentAt: undefined, tries, overtaken, doubted };
  if (isRefused) return { ...rest, memory, requeueAfter: backoff(tries, refusedRetry) };
  if (!overtaken) return { ...rest, memory };
  const events = tries === reportAfter ? outcomes.flatMap(tooBusy) : [];
  return { ...rest, memory, actions: events, requeueAfter: backoff(tries, overtakenRetry) };
}

const tooBusy = ({ action, ...outcome }: Outcome): readonly Action[] =>
  "target" in action && !outcome.ok && isConflict(outcome.error)
    ? [eventOn(anyStateOf(action.target), `Changes too often to be deleted, after ${reportAfter} tries: Pod`)]
    : [];

/** The pod's own timer with its doubt cleared: this pass read the current state from the API, which the caches might lack. */
function ownTimer({ pod }: Bound, timer: EvictionTimer | undefined): EvictionTimer | undefined {
  if (timer?.uid !== pod.metadata.uid) return undefined;
  return timer.doubted ? { ...timer, doubted: false } : timer;
}

/**
 * Whether the eviction of a pod depends on what it would gain: our verdict causes it, and nothing else holds it but
 * perhaps the safety valve. A pod that is being deleted, that no kubelet has started, or whose board an operator
 * confirmed dead has nothing to lose.
 */
export function isToWeigh(
  state: Bound,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): boolean {
  const { pod, silence } = state;
  if (settings.policy !== "evidence" || silence?.verdict === "dead") return false;
  if (isTerminating(pod) || !wasAcceptedByKubelet(pod)) return false;
  const due = dueEviction(state, ownTimer(state, memory), settings, now);
  if (due === undefined || !("keys" in due) || !isCausedByUs(due.keys, due.gate)) return false;
  const ruling = rulingOf(groundsOf(state, due, settings, now));
  return ruling === "act" || ruling === "valve";
}

type Bound = Extract<PodState, { kind: "bound" }>;
type Orphan = Extract<PodState, { kind: "orphan" }>;

function decideBound(
  state: Bound,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const due = dueEviction(state, memory, settings, now);
  if (due === undefined) return released(memory, state.pod);
  return "keys" in due ? decideDue(state, due, settings, now) : waiting(due.timer, now);
}

/** The eviction of a pod, if it is due, or else the timer of its window; undefined if no taint limits the pod's stay. */
function dueEviction(
  state: Bound,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): DueEviction | { readonly timer: EvictionTimer } | undefined {
  const { pod, taints } = state;
  const windows = taints.map((taint) => tolerationTimeFor(taint, pod.spec?.tolerations));
  const length = minLength(windows);
  if (length === Number.POSITIVE_INFINITY) return undefined;
  const timer = timerOf(state, finiteTimes(windows), length, memory, now);
  const ran = ranFor(timer, now);
  const due = windows.filter(({ length }) => length <= ran);
  if (due.length === 0) return { timer };
  const keys = due.map(({ taint }) => taint.key);
  const word = isOperatorConfirmed(keys, state) ? state.confirmed : undefined;
  // An operator's word holds only for a board that is still silent, and the caches may lack its last sign of life.
  const isFromCaches = isAtOnce(timer, due) && state.isInStep && word === undefined;
  const ready = readyFact(state.ready);
  const isOfLifecycle = keys.every(isLifecycleKey);
  const isOurs = isOfLifecycle && isCausedByUs(keys, ready);
  // A kubelet's report counts as long as the kubelet does not withdraw it, which the cache may not show yet: the Node is read.
  const isShown = isOfLifecycle ? isOurs : isFromCaches;
  const gate = {
    ...ready,
    ...(isFormer(timer, state) && { former: true as const }),
    ...(isOfLifecycle && !isOurs && isAwaited(state, timer, settings, now) && { awaited: true as const }),
    ...(!state.isRead && (state.mayBeFormer || !isShown) && { doubtful: true as const }),
    ...(word && { confirmed: word }),
  };
  const cause = word ? confirmedCause(state.board) : isOurs ? causeOf(state, keys) : undefined;
  return { timer, keys, gate, cause };
}

/** Whether the window began in an earlier term, or before the last outage, which kube-controller-manager does not survive. */
const isFormer = ({ former, start }: EvictionTimer, { link: { restoredAt } }: Bound): boolean =>
  former || (restoredAt !== undefined && isAfter(restoredAt, start));

/**
 * Whether the kubelet may be about to withdraw its report: not a whole grace period has passed since the last outage, or
 * since this leader began to watch the board if an earlier one began the pod's window, or since the kubelet's first report
 * after that. A kubelet that was restarted in the outage says first that it is not ready. Under policy `kubernetes` an
 * outage begins the window anew: kube-controller-manager exits in it.
 */
function isAwaited(
  { link: { restoredAt }, silence, watched }: Bound,
  { former, start, length }: EvictionTimer,
  { policy, gracePeriod }: EvictionSettings,
  now: Instant,
): boolean {
  const isRestarted = policy === "kubernetes" && restoredAt !== undefined && isAfter(restoredAt, start);
  if (isRestarted && elapsed(restoredAt, now) < length) return true;
  const taken = former && silence !== undefined ? (watched?.seenAt ?? now) : undefined;
  const since = laterOf(restoredAt, taken);
  return since !== undefined && elapsed(laterOf(since, watched?.statusAt), now) < gracePeriod;
}

/**
 * Whether the pod must be deleted as soon as it and the taints have existed at the same time. The caches then only need
 * to show one moment at which they did. If there is time to tolerate a taint, or a deletion has failed, they may have
 * changed since.
 */
const isAtOnce = ({ tries, sentAt }: EvictionTimer, due: readonly TolerationTime[]): boolean =>
  tries === 0 && sentAt === undefined && due.some(({ length }) => length === 0);

/**
 * Decides on a pod whose Node is not in the cache. Its timer keeps running, as in kube-controller-manager. When it
 * expires, the API is asked, because a Node that merely left the site took its pods with it.
 */
function decideOrphan(
  state: Orphan,
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
  const keys = memory.taints.map(keyOfIdentity);
  const gate = { nodeDeleted: true } as const;
  const cause = isCausedByUs(keys, gate)
    ? {
        board,
        ...harmlessIfNew(pod),
        verdict: "unproven",
        rule: "the toleration time ended after the Node was deleted",
      }
    : undefined;
  return decideDue(state, { timer: memory, keys, gate, cause }, settings, now);
}

/** An eviction that is due. */
interface DueEviction {
  readonly timer: EvictionTimer;
  /** The keys of the taints that the pod no longer tolerates. */
  readonly keys: readonly string[];
  /** What the ruling weighs about the pod and its board. */
  readonly gate: GateFacts;
  /** Our verdict, if that is the reason. */
  readonly cause: Cause | undefined;
}

/** When the quarantine after an outage ends for the board at the latest; undefined if it is in none. */
function quarantineOn(state: Bound | Orphan, { gracePeriod }: EvictionSettings, now: Instant): Instant | undefined {
  const missed = state.kind === "bound" ? state.missed : undefined;
  return missed === "released" ? undefined : latestQuarantineEnd(state.link, gracePeriod, now);
}

function groundsOf(
  state: Bound | Orphan,
  { timer, keys, gate, cause }: DueEviction,
  settings: EvictionSettings,
  now: Instant,
): Grounds {
  const { pod, board, link, shut } = state;
  const { silence = undefined, move = undefined } = state.kind === "bound" ? state : {};
  const hold = holdAt(state, now);
  const toleratedMs = timer.length;
  return {
    act: "pod-evicted",
    board,
    because: { kind: "taints", taints: keys, toleratedMs, ranMs: ranFor(timer, now), ...(silence && { silence }) },
    gate: {
      policy: settings.policy,
      ...gate,
      ...(!link.live && { notLive: true }),
      ...(quarantineOn(state, settings, now) && { quarantine: true }),
      ...(hold && holdFact(hold, now)),
      ...(cause && valveFactsOn(pod, shut)),
      ...(move && { move }),
    },
  };
}

function decideDue(
  state: Bound | Orphan,
  due: DueEviction,
  settings: EvictionSettings,
  now: Instant,
): Decision<EvictionTimer | undefined> {
  const { pod, shut } = state;
  const { timer, gate, cause } = due;
  const { silence = undefined, missed = undefined, move = undefined } = state.kind === "bound" ? state : {};
  const hold = holdAt(state, now);
  const quarantine = quarantineOn(state, settings, now);
  const grounds = groundsOf(state, due, settings, now);
  const ruling = rulingOf(grounds);
  const reason = move && reasonToStay(move);
  if (ruling === "no-gain" && reason)
    return kept(pod, timer, { grounds, restraint: { why: ruling, reason, ...(move.of && { of: move.of }) } }, now);
  if (ruling === "valve" && shut) {
    return heldBack(pod, timer, { grounds, restraint: shut.restraint }, untilOpen(shut, now));
  }
  const restraint = restraintOf(ruling, { hold, silence, confirmed: gate.confirmed });
  if (restraint) {
    const end = ruling === "quarantine" ? (missed || gate.awaited ? undefined : quarantine) : hold?.until;
    const requeueAfter = ruling === "not-live" || ruling === "verdict" || !end ? recheck : elapsed(now, end);
    return heldBack(pod, timer, { grounds, restraint }, Math.max(1, requeueAfter));
  }
  const isRead = state.kind === "bound" && state.isRead;
  if (isRead && state.isGone) return { actions: [], memory: { ...timer, sentAt: now }, requeueAfter: patience };
  // The first deletion after a read requires the version that was read, in case a toleration has been added since.
  const isOfVersion = isEvictionOfLifecycle(grounds) || gate.confirmed !== undefined || (isRead && timer.tries === 0);
  return evict(pod, timer, { isOfVersion, isCertain: ruling === "act", cause, grounds }, now);
}

/** The ruling as a restraint with its details; undefined if nothing but perhaps the safety valve holds the eviction. */
function restraintOf(
  ruling: Ruling,
  {
    hold,
    silence,
    confirmed,
  }: {
    readonly hold: EvictionHold | undefined;
    readonly silence: SilenceFacts | undefined;
    readonly confirmed: Confirmed | undefined;
  },
): Restraint | undefined {
  switch (ruling) {
    case "freeze":
    case "turn":
      return hold?.restraint;
    case "verdict":
      if (confirmed === "heard") return { why: ruling, ...heardSince };
      return silence && { why: ruling, verdict: silence.verdict, rule: silence.rule };
    case "not-live":
    case "quarantine":
      return { why: ruling };
    default:
      return undefined;
  }
}

const heardSince = {
  verdict: "alive",
  rule: "the board has given a sign of life since an operator confirmed it dead",
} as const;

/** The hold that currently applies to evictions because of our own taints; undefined if there is none. */
const holdAt = ({ hold }: Bound | Orphan, now: Instant): EvictionHold | undefined =>
  hold && isAfter(hold.until, now) ? hold : undefined;

function holdFact({ restraint, until }: EvictionHold, now: Instant): Pick<GateFacts, "frozenMs" | "turnInMs"> {
  const leftMs = Math.ceil(elapsed(now, until));
  return restraint.why === "turn" ? { turnInMs: leftMs } : { frozenMs: leftMs };
}

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

/**
 * The pod stays, because an eviction would gain nothing. An Event says so, once for each reason; if the pod has been due
 * since an earlier term, its leader has sent the first one.
 */
function kept(
  pod: Pod,
  timer: EvictionTimer,
  hold: { readonly grounds: Grounds; readonly restraint: Extract<Restraint, { readonly why: "no-gain" }> },
  now: Instant,
): Decision<EvictionTimer> {
  const { grounds, restraint } = hold;
  const { reason } = restraint;
  const requeueAfter = grounds.gate.move?.obstacle === undefined ? gainRecheck.later : gainRecheck.soon;
  const isOld = timer.former && ranFor(timer, now) > timer.length + handover;
  const isExplained = timer.explained === reason || (timer.explained === undefined && isOld);
  return {
    ...heldBack(pod, { ...timer, explained: reason }, hold, requeueAfter),
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
  if (timer.sentAt !== undefined && elapsed(timer.sentAt, now) < patience) {
    return { actions: [], memory: timer, requeueAfter: elapsed(now, shifted(timer.sentAt, patience)) };
  }
  // The taint may be gone, so it is read from the API first, with the pod. Until then the decision record of a withheld
  // eviction stays open.
  if (!isCertain) {
    const due = dueOn(pod, grounds, undefined);
    return { actions: [], memory: { ...timer, doubted: true }, requeueAfter: 0, due };
  }
  const isFirst = timer.sentAt === undefined && timer.tries === 0;
  const events = isFirst ? [eventOn(refOf(pod), "Marking for deletion Pod", becauseText(grounds))] : [];
  /*
   * A request may arrive long after it was sent, under another leader. Therefore, for our own taints, the target is
   * only the version that was read. A taint of another client applies to every version, so that a constantly changing
   * pod does not escape it; only the first deletion after a read requires that version, in case a toleration has been
   * added since.
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
  memory === undefined || memory.sentAt !== undefined ? forgotten : cancelled(refOf(pod));

const causeOf = ({ board, silence, pod }: Bound, keys: readonly string[]): Cause => ({
  board,
  ...harmlessIfNew(pod),
  verdict: silence?.verdict ?? "unproven",
  rule: `the pod no longer tolerates ${keys.join(", ")}`,
});
