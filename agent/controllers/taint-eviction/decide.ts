import type { Pod, Taint } from "../../api/core.ts";
import { isTerminating } from "../../api/pods.ts";
import { pods } from "../../api/resources.ts";
import { taintKeys } from "../../api/taints.ts";
import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import {
  type Action,
  anyStateOf,
  type Cause,
  isConflict,
  type ObjectRef,
  type Outcome,
  refTo,
} from "../../execution/actions.ts";
import { heldUntil, type Link } from "../../judgement/link.ts";
import { permitsHarm, type Verdict } from "../../judgement/verdict.ts";
import type { Decision } from "../../loop/controller.ts";
import { disruptionTarget } from "../disruption-target.ts";
import type { RunningTaint } from "../node-lifecycle/memory.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { deadlineOf, type Timer } from "./timer.ts";
import { identityOf, keyOfIdentity, limited, shortest, type Window, windowOf } from "./window.ts";

/** A pod and the state of its board. */
export type PodState =
  /** `released`: the pod left the site with its board, so its events belong to another site. */
  | { readonly kind: "gone"; readonly pod: ObjectRef; readonly released: boolean }
  | { readonly kind: "unbound"; readonly pod: Pod }
  /** The board's Node is not in the cache; `fate`: the API's answer about it, asked only once it matters. */
  | {
      readonly kind: "orphan";
      readonly pod: Pod;
      readonly board: string;
      readonly fate: "not asked" | "released" | "deleted";
      readonly link: Link;
      readonly heldUntil: Instant | undefined;
    }
  | {
      readonly kind: "bound";
      readonly pod: Pod;
      readonly board: string;
      /** The NoExecute taints of its board. */
      readonly taints: readonly Taint[];
      /** Status of the board's Ready condition. */
      readonly ready: string | undefined;
      readonly link: Link;
      /** The current verdict on the board; `undefined`: no controller judges boards here. */
      readonly verdict: Verdict | undefined;
      /** The pod is not evicted before this time: a freeze, or its board's turn after one. */
      readonly heldUntil: Instant | undefined;
      /** How long the former leader saw the board's taint run; only early in a term. */
      readonly inherited: RunningTaint | undefined;
    };

type EvictionSettings = Pick<NodeLifecycleSettings, "policy" | "gracePeriod">;

/** How soon a held deletion is checked again if its end is unknown. */
const recheck: Millis = 5000;
/** The time within which an accepted deletion shows in the cache. */
const patience: Millis = 60_000;
/**
 * Backoff in ms after a refused deletion. Retried for as long as it is due, since the reason of the refusal may go away
 * (docs/kubernetes-rules.md#eviction-timers).
 */
const refusedRetry = { first: 5, most: 1_000_000 };
/** Backoff in ms after a conflict: the pod is read from the API and decided on again, soon at first. */
const overtakenRetry = { first: 20, most: 5000 };
/** Conflicts in a row, about 14 s, after which an event reports them. */
const tellAfter = 10;

export function decide(
  state: PodState,
  memory: Timer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<Timer | undefined> {
  switch (state.kind) {
    case "gone": {
      // One more pass, to drop the key.
      const isCancelled = memory !== undefined && memory.asked === undefined && !state.released;
      return { ...(isCancelled ? cancelled(state.pod) : forgotten), requeueAfter: 0 };
    }
    case "unbound":
      return released(memory, state.pod);
    case "orphan":
      return decideOrphan(state, memory, settings, now);
    case "bound":
      return decideBound(state, memory?.uid === state.pod.metadata.uid ? memory : undefined, settings, now);
    default:
      return state satisfies never;
  }
}

/**
 * After a failed write the deletion is still due. No change of the object will announce the end of a refusal, so the
 * time of the retry is set here, as it is after a conflict; other failures are left to the loop's backoff.
 */
export function remember(
  decision: Decision<Timer | undefined>,
  outcomes: readonly Outcome[],
): Decision<Timer | undefined> {
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
  const rest = { ...decision, actions: [] };
  if (decision.memory === undefined || failures.length === 0) return rest;
  const tries = decision.memory.tries + 1;
  const isRefused = failures.some((error) => dispositionOf(error) === "drop");
  const overtaken = failures.some(isConflict);
  const memory: Timer = { ...decision.memory, asked: undefined, tries, overtaken };
  if (isRefused) return { ...rest, memory, requeueAfter: backoff(tries, refusedRetry) };
  if (!overtaken) return { ...rest, memory };
  const told = tries === tellAfter ? outcomes.flatMap(tooBusy) : [];
  return { ...rest, memory, actions: told, requeueAfter: backoff(tries, overtakenRetry) };
}

const tooBusy = ({ action, ...outcome }: Outcome): readonly Action[] =>
  "target" in action && !outcome.ok && isConflict(outcome.error)
    ? [say(anyStateOf(action.target), `Written more often than it can be deleted, after ${tellAfter} tries: Pod`)]
    : [];

type Bound = Extract<PodState, { kind: "bound" }>;
type Orphan = Extract<PodState, { kind: "orphan" }>;

function decideBound(
  state: Bound,
  memory: Timer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<Timer | undefined> {
  const { pod, taints } = state;
  const windows = taints.map((taint) => windowOf(taint, pod.spec?.tolerations));
  const length = shortest(windows);
  if (length === Number.POSITIVE_INFINITY) return released(memory, pod);
  const timer = timerOf(state, limited(windows), length, memory, now);
  if (deadlineOf(timer).mono > now.mono) return waiting(timer, now);
  const due = windows.filter(({ length }) => deadlineOf({ ...timer, length }).mono <= now.mono);
  const ofLifecycle = due.every(({ taint }) => isLifecycleKey(taint.key));
  if (ofLifecycle && isHeld(state, now)) return held(timer, state, now);
  if (ofLifecycle && timer.former && isBack(state)) return { actions: [], memory: timer, requeueAfter: recheck };
  const cause = due.every(({ taint }) => isOurs(taint.key, state.ready)) ? causeOf(state, due) : undefined;
  return evict(pod, timer, { ofLifecycle, cause, link: state.link, verdict: state.verdict, settings }, now);
}

/**
 * The timer of a pod. A window keeps its start as long as one of its taints is still there; its length may change.
 * Other taints, or another board, start a new window, except when unreachable and not-ready swap: the board is still
 * lost then. A pod that does not tolerate its taint has a window of length 0.
 */
function timerOf(
  { pod, board, inherited }: Bound,
  windows: readonly Window[],
  length: Millis,
  memory: Timer | undefined,
  now: Instant,
): Timer {
  const taints = windows.map(({ taint }) => identityOf(taint));
  const goesOn = (timer: Timer): boolean =>
    taints.some((taint) => timer.taints.includes(taint)) || (!timer.loaded && isExchanged(timer.taints, taints));
  const same = memory !== undefined && memory.board === board && goesOn(memory);
  const known = same && !memory.carried ? undefined : runningSince(inherited, windows);
  const starts = [same ? memory.start : now, known ?? now];
  const start = starts.reduce((first, other) => (other.mono < first.mono ? other : first));
  const isUnchanged = same && !memory.carried && memory.length === length && isSameSet(memory.taints, taints);
  if (isUnchanged) return memory.loaded ? { ...memory, loaded: false } : memory;
  const { uid } = pod.metadata;
  const anew = { former: known !== undefined, asked: undefined, tries: 0, overtaken: false };
  const { former, asked, tries, overtaken } = same ? memory : anew;
  return { uid, board, start, length, taints, at: now, loaded: false, carried: false, former, asked, tries, overtaken };
}

/**
 * Whether one of our two taints was swapped for the other. Not used between two terms, when it may have gone and come
 * back many times.
 */
function isExchanged(before: readonly string[], after: readonly string[]): boolean {
  const ours = (taints: readonly string[]): readonly string[] => taints.map(keyOfIdentity).filter(isLifecycleKey);
  const [had, has] = [ours(before), ours(after)];
  return had.length > 0 && has.length > 0 && !has.some((key) => had.includes(key));
}

/** Only for the same taint that the former leader saw. */
const runningSince = (inherited: RunningTaint | undefined, windows: readonly Window[]): Instant | undefined =>
  inherited !== undefined &&
  windows.some(({ taint, length }) => length > 0 && taint.timeAdded === inherited.added && isLifecycleKey(taint.key))
    ? inherited.since
    : undefined;

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((entry) => b.includes(entry));

/**
 * Decides on a pod whose Node is not in the cache. Its timer keeps running, as in kube-controller-manager; when it
 * expires the API is asked, because a Node that only left the site took its pods along.
 */
function decideOrphan(
  state: Orphan,
  memory: Timer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<Timer | undefined> {
  const { pod, board, fate, link } = state;
  if (memory === undefined || memory.uid !== pod.metadata.uid || memory.board !== board) return forgotten;
  if (fate === "released") return forgotten;
  // The Node may be back before that without the taint, so check more often.
  if (deadlineOf(memory).mono > now.mono) {
    return { actions: [], memory, requeueAfter: Math.min(recheck, elapsed(now, deadlineOf(memory))) };
  }
  if (fate === "not asked") return { actions: [], memory, requeueAfter: recheck };
  const ofLifecycle = memory.taints.length > 0 && memory.taints.every((taint) => isLifecycleKey(keyOfIdentity(taint)));
  if (ofLifecycle && isHeld(state, now)) return held(memory, state, now);
  const cause = ofLifecycle
    ? { board, verdict: "unproven", rule: "its time ran out after the Node was deleted" }
    : undefined;
  return evict(pod, memory, { ofLifecycle, cause, link, verdict: undefined, settings }, now);
}

/** Only for our own taints: those of other clients are deliberate and are not held. */
const isHeld = ({ heldUntil }: Bound | Orphan, now: Instant): boolean =>
  heldUntil !== undefined && elapsed(now, heldUntil) > 0;

/**
 * The kubelet reports ready and no evidence contradicts it: the next monitor pass removes the taint. A new
 * kube-controller-manager removes it too, and starts a new window if the taint returns. If no controller judges boards
 * here, none removes it either.
 */
const isBack = ({ ready, verdict }: Bound): boolean =>
  ready === "True" && verdict !== undefined && !permitsHarm(verdict, "evidence");

/** Waits for the end of the hold; a freeze that is lifted early enqueues the key. */
const held = (timer: Timer, { heldUntil = timer.at }: Bound | Orphan, now: Instant): Decision<Timer> => ({
  actions: [],
  memory: timer,
  requeueAfter: Math.max(1, elapsed(now, heldUntil)),
});

/** Deletes the pod, unless our own verdict is the reason and the link or the verdict does not permit it now. */
function evict(
  pod: Pod,
  timer: Timer,
  {
    ofLifecycle,
    cause,
    link,
    verdict,
    settings,
  }: {
    /** Only the unreachable and not-ready taints cause it, not a taint set by a person or another controller. */
    readonly ofLifecycle: boolean;
    readonly cause: Cause | undefined;
    readonly link: Link;
    readonly verdict: Verdict | undefined;
    readonly settings: EvictionSettings;
  },
  now: Instant,
): Decision<Timer | undefined> {
  if (cause !== undefined) {
    if (!link.live) return { actions: [], memory: timer, requeueAfter: recheck };
    const held = heldUntil(link, settings.gracePeriod, now);
    if (held !== undefined) return { actions: [], memory: timer, requeueAfter: Math.max(1, elapsed(now, held)) };
    if (verdict && !permitsHarm(verdict, settings.policy)) return { actions: [], memory: timer, requeueAfter: recheck };
  }
  if (timer.asked !== undefined && elapsed(timer.asked, now) < patience) {
    return { actions: [], memory: timer, requeueAfter: elapsed(now, shifted(timer.asked, patience)) };
  }
  const isFirst = timer.asked === undefined && timer.tries === 0;
  const told = isFirst ? [say(refOf(pod), "Marking for deletion Pod")] : [];
  /*
   * A request may arrive long after it was sent, under another leader. With our own taints the target is therefore the
   * version that was read: a pod written since then survives. A taint set by another client applies to every version,
   * and a busy pod cannot escape it.
   */
  const target = ofLifecycle ? refTo(pods, pod) : refOf(pod);
  const marks = [...told, ...markDisrupted(pod, target, cause, now)];
  // The pod is being deleted already: it gets the condition all the same, as in kube-controller-manager 1.36.
  if (isTerminating(pod)) return { actions: marks, memory: { ...timer, asked: now } };
  return { actions: [...marks, remove(target, cause)], memory: { ...timer, asked: now }, requeueAfter: patience };
}

/** Sets the DisruptionTarget condition, which must be written before the deletion. */
function markDisrupted(pod: Pod, target: ObjectRef, cause: Cause | undefined, now: Instant): readonly Action[] {
  const message = "Taint manager: deleting due to NoExecute taint";
  const condition = disruptionTarget(pod, { reason: "DeletionByTaintManager", message }, now);
  if (condition === undefined) return [];
  return [
    {
      do: "patch",
      target,
      type: "strategic",
      patch: { status: { conditions: [condition] } },
      subresource: "status",
      ...(cause && { cause }),
    },
  ];
}

const remove = (target: ObjectRef, cause: Cause | undefined): Action => ({
  do: "delete",
  target,
  ...(cause && { cause }),
});

const say = (about: ObjectRef, what: string): Action => ({
  do: "event",
  about,
  severity: "Normal",
  reason: "TaintManagerEviction",
  message: `${what} ${about.namespace}/${about.name}`,
});

/** Reference to the pod in any version, for events and for deletions that do not depend on its state. */
export const refOf = (pod: Pod): ObjectRef => anyStateOf(refTo(pods, pod));

const waiting = (timer: Timer, now: Instant): Decision<Timer> => ({
  actions: [],
  memory: timer,
  requeueAfter: elapsed(now, deadlineOf(timer)),
});

const forgotten: Decision<undefined> = { actions: [], memory: undefined };

const cancelled = (pod: ObjectRef): Decision<undefined> => ({
  actions: [say(pod, "Cancelling deletion of Pod")],
  memory: undefined,
});

/** No taint limits the pod's stay any more. */
const released = (memory: Timer | undefined, pod: Pod): Decision<undefined> =>
  memory === undefined || memory.asked !== undefined ? forgotten : cancelled(refOf(pod));

const isLifecycleKey = (key: string): boolean => key === taintKeys.unreachable || key === taintKeys.notReady;

/** unreachable is always our verdict; not-ready may be the board's own report, unless it has fallen silent since. */
const isOurs = (key: string, ready: string | undefined): boolean =>
  key === taintKeys.unreachable || (key === taintKeys.notReady && ready === "Unknown");

const causeOf = ({ board, verdict }: Bound, due: readonly Window[]): Cause => ({
  board,
  verdict: verdict?.verdict ?? "unproven",
  rule: `does not tolerate ${due.map(({ taint }) => taint.key).join(", ")} any longer`,
});
