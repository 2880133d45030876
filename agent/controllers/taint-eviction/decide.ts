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

/** One pod, and the board that it is bound to. */
export type PodState =
  /** `released`: it left the site with its board, and is another's to speak about. */
  | { readonly kind: "gone"; readonly pod: ObjectRef; readonly released: boolean }
  | { readonly kind: "unbound"; readonly pod: Pod }
  /** Its board's Node is not in the cache; `fate`: what the API said of it, once that matters. */
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
      /** What is held to be true of the board right now; `undefined`: nobody judges boards here. */
      readonly verdict: Verdict | undefined;
      /** Evictions from its board are frozen, or go slowly since they were: its turn does not come before. */
      readonly heldUntil: Instant | undefined;
      /** How long the former leader saw the board's taint run; only while a term is young. */
      readonly inherited: RunningTaint | undefined;
    };

type EvictionSettings = Pick<NodeLifecycleSettings, "policy" | "gracePeriod">;

/** How soon a deletion that is held back is looked at again, while nobody can say when it may go on. */
const recheck: Millis = 5000;
/** A deletion that was accepted shows by now. */
const patience: Millis = 60_000;
/**
 * A deletion that was refused is tried again for as long as it is due: what refuses it may change
 * (docs/kubernetes-rules.md#eviction-timers).
 */
const refusedRetry = { first: 5, most: 1_000_000 };
/** A pod that was written meanwhile is read from the API and decided on anew, soon at first. */
const overtakenRetry = { first: 20, most: 5000 };
/** After so many failures in a row people read of it: 14 s of conflicts. */
const tellAfter = 10;

export function decide(
  state: PodState,
  memory: Timer | undefined,
  settings: EvictionSettings,
  now: Instant,
): Decision<Timer | undefined> {
  switch (state.kind) {
    case "gone": {
      // Once more, to let go of the key.
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
 * Where something could not be written the deletion is still due. A refusal for good is told nobody by the object, so the
 * time to try again is set here, as it is for a pod that was written meanwhile; all else comes back as the loop has it.
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
 * The window does not start anew as long as one of the taints that it belongs to is still there: it may become shorter
 * or longer, counted from the same start. Other taints, or another board, begin a new one; not so the other one of
 * unreachable and not-ready, which says that the board is still lost. What does not tolerate its taint at all has a
 * window of no length.
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

/** One of our two taints gave way to the other one. Between two terms it may have gone and come back many times. */
function isExchanged(before: readonly string[], after: readonly string[]): boolean {
  const ours = (taints: readonly string[]): readonly string[] => taints.map(keyOfIdentity).filter(isLifecycleKey);
  const [had, has] = [ours(before), ours(after)];
  return had.length > 0 && has.length > 0 && !has.some((key) => had.includes(key));
}

/** Only for the very taint that the former leader saw. */
const runningSince = (inherited: RunningTaint | undefined, windows: readonly Window[]): Instant | undefined =>
  inherited !== undefined &&
  windows.some(({ taint, length }) => length > 0 && taint.timeAdded === inherited.added && isLifecycleKey(taint.key))
    ? inherited.since
    : undefined;

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((entry) => b.includes(entry));

/**
 * The Node is not in the cache. A timer runs on, as in kube-controller-manager; when it is over the API is asked: a
 * Node that only left the site took its pods along.
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
  // Its Node may be back before that, without the taint.
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

/** Taints that somebody else puts on a board are that one's own will. */
const isHeld = ({ heldUntil }: Bound | Orphan, now: Instant): boolean =>
  heldUntil !== undefined && elapsed(now, heldUntil) > 0;

/**
 * Its kubelet reported that it is ready, and no evidence speaks against it: the taint goes with the next monitor pass. A
 * new kube-controller-manager takes it off, and would begin a new window if it came again. Where nobody here judges
 * boards, nobody here takes it off either.
 */
const isBack = ({ ready, verdict }: Bound): boolean =>
  ready === "True" && verdict !== undefined && !permitsHarm(verdict, "evidence");

/** Its key is woken when a freeze ends before its time. */
const held = (timer: Timer, { heldUntil = timer.at }: Bound | Orphan, now: Instant): Decision<Timer> => ({
  actions: [],
  memory: timer,
  requeueAfter: Math.max(1, elapsed(now, heldUntil)),
});

/** Deletes, unless our own verdict is the reason and we cannot see well enough to stand by it. */
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
    /** Whether it goes for the state of its board alone: by nobody's hand. */
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
   * A request may arrive long after it was sent, under another leader: a pod that its kubelet, or anybody, wrote since it
   * was read lives on. A taint by somebody's hand means every state of the pod, and a busy pod cannot escape it.
   */
  const target = ofLifecycle ? refTo(pods, pod) : refOf(pod);
  const marks = [...told, ...markDisrupted(pod, target, cause, now)];
  // Somebody deleted it before us: as in kube-controller-manager 1.36 it is marked all the same.
  if (isTerminating(pod)) return { actions: marks, memory: { ...timer, asked: now } };
  return { actions: [...marks, remove(target, cause)], memory: { ...timer, asked: now }, requeueAfter: patience };
}

/** Says why before it goes. */
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

/** For what is said of it, whatever else changed about it. */
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

/** Nothing limits its stay any more. */
const released = (memory: Timer | undefined, pod: Pod): Decision<undefined> =>
  memory === undefined || memory.asked !== undefined ? forgotten : cancelled(refOf(pod));

const isLifecycleKey = (key: string): boolean => key === taintKeys.unreachable || key === taintKeys.notReady;

/** unreachable is always our verdict; not-ready may be the board's own word, unless it has fallen silent. */
const isOurs = (key: string, ready: string | undefined): boolean =>
  key === taintKeys.unreachable || (key === taintKeys.notReady && ready === "Unknown");

const causeOf = ({ board, verdict }: Bound, due: readonly Window[]): Cause => ({
  board,
  verdict: verdict?.verdict ?? "unproven",
  rule: `does not tolerate ${due.map(({ taint }) => taint.key).join(", ")} any longer`,
});
