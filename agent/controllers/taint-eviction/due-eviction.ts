import { isTerminating, wasAcceptedByKubelet } from "../../api/pods.ts";
import { isLifecycleKey } from "../../api/taints.ts";
import { elapsed, type Instant, isAfter, laterOf } from "../../base/clock.ts";
import type { GateFacts, Grounds } from "../../decisions/grounds.ts";
import type { Cause } from "../../execution/actions.ts";
import { latestQuarantineEnd } from "../../judgement/link.ts";
import { isCausedByUs, isOperatorConfirmed, rulingOf } from "../../judgement/ruling.ts";
import { readyFact } from "../node-lifecycle/health.ts";
import { confirmedCause } from "../node-lifecycle/out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { harmlessIfNew, valveFactsOn } from "../safety-valve.ts";
import { isUntried, reread } from "./deletion.ts";
import type { BoundPod, OrphanPod } from "./pod-state.ts";
import type { EvictionHold } from "./thaw.ts";
import { type EvictionTimer, isOfEarlierTerm, ranFor, ranSince, timerOf } from "./timer.ts";
import { finiteTimes, keyOfIdentity, type TolerationTime, tolerationTimeFor } from "./toleration-time.ts";

export type EvictionSettings = Pick<NodeLifecycleSettings, "policy" | "gracePeriod">;

/** The basis of an eviction. */
type Basis =
  /** An operator's confirmation that the board is dead. It holds only as long as the board is silent. */
  | "word"
  /** Our verdict that the board is silent. */
  | "verdict"
  /** Lifecycle taints that follow from what the kubelet reports, such as Ready=False; it may yet report otherwise. */
  | "report"
  /** A taint of another client, which is an order. */
  | "order";

/** An eviction that is due. */
export interface DueEviction {
  readonly timer: EvictionTimer;
  /** The keys of the taints that the pod no longer tolerates. */
  readonly keys: readonly string[];
  /** For how long the pod tolerates the first of them, and has. */
  readonly time: Pick<Extract<Grounds["because"], { readonly kind: "taints" }>, "toleratedMs" | "ranMs">;
  readonly basis: Basis;
  /** The facts about the pod and its board on which the ruling depends. */
  readonly gate: GateFacts;
  /** Our verdict, if that is the reason. */
  readonly cause: Cause | undefined;
}

/**
 * The eviction of a pod, if it is due, or else the timer of its window; undefined if no taint limits the pod's stay.
 */
export function dueEviction(
  state: BoundPod,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): DueEviction | { readonly timer: EvictionTimer } | undefined {
  const { pod, taints } = state;
  const windows = taints.map((taint) => tolerationTimeFor(taint, pod.spec?.tolerations));
  const finite = finiteTimes(windows);
  if (finite.length === 0) return undefined;
  const { watched, inherited } = state;
  const reported = laterOf(watched?.returnedAt, inherited?.isBack ? inherited.since : undefined);
  const timer = timerOf(state, finite, memory, reported, now);
  const due = finite.filter((window) => window.length <= ranSince(timer, window, now));
  const [first] = due.toSorted((a, b) => a.length - b.length);
  if (first === undefined) return { timer };
  const keys = due.map(({ taint }) => taint.key);
  const basis = basisOf(keys, state);
  const gate = gateOf({ basis, timer, due }, state, settings, now);
  const time = { toleratedMs: first.length, ranMs: ranSince(timer, first, now) };
  return { timer, keys, basis, gate, time, cause: causeOf(basis, keys, state) };
}

function basisOf(keys: readonly string[], state: BoundPod): Basis {
  if (isOperatorConfirmed(keys, state)) return "word";
  if (isCausedByUs(keys, readyFact(state.ready))) return "verdict";
  return keys.every(isLifecycleKey) ? "report" : "order";
}

interface WindowsOver {
  readonly basis: Basis;
  readonly timer: EvictionTimer;
  /** The windows that are over. */
  readonly due: readonly TolerationTime[];
}

/** The facts about the pod and its board on which the ruling depends. */
function gateOf(over: WindowsOver, state: BoundPod, settings: EvictionSettings, now: Instant): GateFacts {
  const { basis, timer } = over;
  return {
    ...readyFact(state.ready),
    ...(isFormer(timer, state) && { former: true }),
    ...(basis === "report" && isAwaited(state, timer, settings, now) && { awaited: true }),
    ...(isDoubtful(over, state) && { doubtful: true }),
    ...(basis === "word" && state.confirmed && { confirmed: state.confirmed }),
  };
}

/**
 * Whether the pod and taints must be read from the API before the eviction, because the caches may lack a change that
 * forbids it.
 */
function isDoubtful({ basis, timer, due }: WindowsOver, state: BoundPod): boolean {
  if (state.isRead) return false;
  if (state.mayBeFormer) return true;
  switch (basis) {
    case "word":
    case "report":
      return true;
    case "verdict":
      return false;
    case "order":
      return !(isAtOnce(timer, due) && state.isInStep);
    default:
      return basis satisfies never;
  }
}

function causeOf(basis: Basis, keys: readonly string[], { board, silence, pod }: BoundPod): Cause | undefined {
  if (basis === "word") return confirmedCause(board);
  if (basis !== "verdict") return undefined;
  return {
    board,
    ...harmlessIfNew(pod),
    verdict: silence?.verdict ?? "unproven",
    rule: `the pod no longer tolerates ${keys.join(", ")}`,
  };
}

/**
 * Whether the window began in an earlier term, or before the last outage, which kube-controller-manager does not
 * survive.
 */
const isFormer = (timer: EvictionTimer, { link: { restoredAt } }: BoundPod): boolean =>
  isOfEarlierTerm(timer) || (restoredAt !== undefined && isAfter(restoredAt, timer.start));

/**
 * Whether the kubelet may still withdraw its report: less than a grace period has passed since the last outage, since
 * this leader began to watch the board, or since the kubelet's first report after that. A kubelet that was restarted in
 * the outage first reports that it is not ready. Under policy `evidence` the same applies to its first report after a
 * silence. Under policy `kubernetes` a new leader waits only if the pod's window began under an earlier one, and an
 * outage begins the window anew, because kube-controller-manager exits in it.
 */
function isAwaited(
  { link: { restoredAt }, silence, watched }: BoundPod,
  timer: EvictionTimer,
  { policy, gracePeriod }: EvictionSettings,
  now: Instant,
): boolean {
  const isRestarted = policy === "kubernetes" && restoredAt !== undefined && isAfter(restoredAt, timer.start);
  if (isRestarted && elapsed(restoredAt, now) < timer.length) return true;
  const { seenAt = now, statusAt, returnedAt } = watched ?? {};
  const taken = silence !== undefined && (policy === "evidence" || isOfEarlierTerm(timer)) ? seenAt : undefined;
  const since = [restoredAt, taken, returnedAt].reduce(laterOf, undefined);
  return since !== undefined && elapsed(laterOf(since, statusAt), now) < gracePeriod;
}

/**
 * Whether the pod must be deleted as soon as it and the taints exist at the same time. The caches then only need to
 * show one moment at which both did. If the pod tolerates a taint for some time, or a deletion has failed, the pod or
 * the taints may have changed since that moment.
 */
const isAtOnce = (timer: EvictionTimer, due: readonly TolerationTime[]): boolean =>
  isUntried(timer.deletion) && due.some(({ length }) => length === 0);

/** The eviction of a pod whose Node was deleted, once its window is over. */
export function orphanEviction({ pod, board }: OrphanPod, timer: EvictionTimer, now: Instant): DueEviction {
  const keys = timer.taints.map(keyOfIdentity);
  const gate = { nodeDeleted: true } as const;
  const basis = isCausedByUs(keys, gate) ? "verdict" : "order";
  const time = { toleratedMs: timer.length, ranMs: ranFor(timer, now) };
  const rule = "the toleration time ended after the Node was deleted";
  const cause = basis === "verdict" ? { board, ...harmlessIfNew(pod), verdict: "unproven", rule } : undefined;
  return { timer, keys, basis, gate, time, cause };
}

/** The facts on which the ruling on a due eviction rests, and which its record keeps. */
export function groundsOf(
  state: BoundPod | OrphanPod,
  { keys, gate, time, cause }: DueEviction,
  settings: EvictionSettings,
  now: Instant,
): Grounds {
  const { pod, board, link, shut } = state;
  const { silence = undefined, move = undefined } = state.kind === "bound" ? state : {};
  const hold = holdAt(state, now);
  return {
    act: "pod-evicted",
    board,
    because: { kind: "taints", taints: keys, ...time, ...(silence && { silence }) },
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

/** When the quarantine after an outage ends for the board at the latest; undefined if it is in none. */
export function quarantineOn(
  state: BoundPod | OrphanPod,
  { gracePeriod }: EvictionSettings,
  now: Instant,
): Instant | undefined {
  const missed = state.kind === "bound" ? state.missed : undefined;
  return missed === "released" ? undefined : latestQuarantineEnd(state.link, gracePeriod, now);
}

/** The hold that currently applies to evictions because of our own taints; undefined if there is none. */
export const holdAt = ({ hold }: BoundPod | OrphanPod, now: Instant): EvictionHold | undefined =>
  hold && isAfter(hold.until, now) ? hold : undefined;

function holdFact({ restraint, until }: EvictionHold, now: Instant): Pick<GateFacts, "frozenMs" | "turnInMs"> {
  const leftMs = Math.ceil(elapsed(now, until));
  return restraint.why === "turn" ? { turnInMs: leftMs } : { frozenMs: leftMs };
}

/**
 * Whether the eviction of a pod depends on what it would gain: our verdict causes it, and nothing else holds it, except
 * perhaps the safety valve. A pod that is being deleted, that no kubelet has started, or whose board an operator
 * confirmed dead has nothing to lose. Asked before the gain is known, because finding it out costs reads; `decide` then
 * derives the same due eviction, with the gain, from the state alone.
 */
export function isToWeigh(
  state: BoundPod,
  memory: EvictionTimer | undefined,
  settings: EvictionSettings,
  now: Instant,
): boolean {
  const { pod, silence } = state;
  if (settings.policy !== "evidence" || silence?.verdict === "dead") return false;
  if (isTerminating(pod) || !wasAcceptedByKubelet(pod)) return false;
  const due = dueEviction(state, ownTimer(state, memory), settings, now);
  if (due === undefined || !("keys" in due) || due.basis !== "verdict") return false;
  const ruling = rulingOf(groundsOf(state, due, settings, now));
  return ruling === "act" || ruling === "valve";
}

/** The pod's own timer. If its deletion was doubted, this pass has read the pod and taints from the API. */
export function ownTimer({ pod }: BoundPod, timer: EvictionTimer | undefined): EvictionTimer | undefined {
  if (timer?.uid !== pod.metadata.uid) return undefined;
  return timer.deletion.isDoubted ? { ...timer, deletion: reread(timer.deletion) } : timer;
}
