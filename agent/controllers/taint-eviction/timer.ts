import { isLifecycleKey } from "../../api/taints.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import type { StayReason } from "../../decisions/grounds.ts";
import type { Durable } from "../../loop/controller.ts";
import type { RunningTaint } from "../node-lifecycle/zones/budget.ts";
import type { PodState } from "./pod-state.ts";
import { identityOf, isDated, keyOfIdentity, type TolerationTime } from "./toleration-time.ts";

/** The time that a pod may still stay on its tainted board. */
export interface EvictionTimer {
  readonly uid: string;
  readonly board: string;
  readonly start: Instant;
  readonly length: Millis;
  /** Identities of the taints that the window belongs to. */
  readonly taints: readonly string[];
  /** When the timer was last computed. */
  readonly at: Instant;
  /** Whether the timer was stored in an earlier term and has not been computed since. */
  readonly loaded: boolean;
  /** Whether the timer was stored before a reboot, so that it is unknown how long the board was off. */
  readonly carried: boolean;
  /** Whether the timer began in an earlier term, of any board, so that changes between the terms are unknown. */
  readonly former: boolean;
  /** When the deletion of the pod was sent; undefined if not sent, or it failed. */
  readonly sentAt: Instant | undefined;
  /** Failed attempts to delete the pod. */
  readonly tries: number;
  /** True if the deletion met a conflict, so that the next pass reads the pod from the API. */
  readonly overtaken: boolean;
  /**
   * True if the timer expired while the caches were out of date, so that the next pass reads the pod and taints from
   * the API.
   */
  readonly doubted: boolean;
  /** Why the pod stays, as an Event reported it last; undefined if none has. */
  readonly explained: StayReason | undefined;
}

/** Whether the timer runs for nothing but our own taints. */
export const isOfOwnTaints = ({ taints }: Pick<EvictionTimer, "taints">): boolean =>
  taints.every((taint) => isLifecycleKey(keyOfIdentity(taint)));

export const deadlineOf = ({ start, length }: EvictionTimer): Instant => shifted(start, length);

/**
 * For how many whole milliseconds the timer has run. A deadline is a whole number of milliseconds after the start, and
 * because of rounding errors in the clock's fractions, the last one may appear incomplete.
 */
export const ranFor = ({ start }: EvictionTimer, now: Instant): Millis =>
  Math.max(0, Math.floor(elapsed(start, now) + 1e-3));

/**
 * The timer of a pod. A window keeps its start as long as one of its taints remains; its length may change. Other
 * taints, or another board, start a new window. Swapping unreachable and not-ready does not, because the board is still
 * lost. A pod that does not tolerate its taint has a window of length 0.
 *
 * A window stored in an earlier term continues only for a taint with `timeAdded`. A taint without one, such as kubectl
 * sets, may have been removed and set again between the terms without any visible difference.
 */
export function timerOf(
  { pod, board, inherited }: Pick<Extract<PodState, { kind: "bound" }>, "pod" | "board" | "inherited">,
  windows: readonly TolerationTime[],
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
  const anew = {
    former: inheritedStart !== undefined,
    sentAt: undefined,
    tries: 0,
    overtaken: false,
    doubted: false,
    explained: undefined,
  };
  const { former, sentAt, tries, overtaken, doubted, explained } = same ? memory : anew;
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
    explained,
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

/** When the taint began, according to the previous leader; undefined if it recorded no taint, or a different one. */
const runningSince = (inherited: RunningTaint | undefined, windows: readonly TolerationTime[]): Instant | undefined =>
  inherited !== undefined &&
  windows.some(({ taint, length }) => length > 0 && taint.timeAdded === inherited.added && isLifecycleKey(taint.key))
    ? inherited.since
    : undefined;

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((entry) => b.includes(entry));

export interface TimerCounts {
  /** Timers still running. */
  readonly waiting: number;
  /** Expired timers whose pod still exists, because its eviction is held or failed. */
  readonly due: number;
}

export function countTimers(timers: Iterable<EvictionTimer | undefined>, now: Instant): TimerCounts {
  let [waiting, due] = [0, 0];
  for (const timer of timers) {
    if (timer === undefined || timer.sentAt !== undefined) continue;
    if (deadlineOf(timer).mono > now.mono) waiting++;
    else due++;
  }
  return { waiting, due };
}

/**
 * Stores timers as text. A timer's start is on the monotonic clock, which is valid for one boot of one board; after a
 * reboot, only the time that it had run when it was stored is known.
 */
export const durableTimers = (boot: string): Durable<EvictionTimer | undefined> => ({
  save(timer) {
    if (timer === undefined || timer.sentAt !== undefined) return undefined;
    const { uid, board, start, length, taints, at } = timer;
    return JSON.stringify({ v: 1, boot, uid, board, start: start.mono, ran: elapsed(start, at), length, taints });
  },
  load(text, now) {
    const written: unknown = JSON.parse(text);
    if (!isWritten(written)) throw new Error("not a timer of this version");
    const { uid, board, length, taints } = written;
    const carried = written.boot !== boot;
    const ran = carried ? written.ran : now.mono - written.start;
    const start = shifted(now, -Math.max(0, ran));
    const anew = { sentAt: undefined, tries: 0, overtaken: false, doubted: false, explained: undefined };
    return { uid, board, start, length, taints, at: now, loaded: true, carried, former: true, ...anew };
  },
});

interface Written {
  readonly boot: string;
  readonly uid: string;
  readonly board: string;
  readonly start: Millis;
  readonly ran: Millis;
  readonly length: Millis;
  readonly taints: readonly string[];
}

function isWritten(value: unknown): value is Written {
  if (typeof value !== "object" || value === null) return false;
  const { v, boot, uid, board, start, ran, length, taints }: Readonly<Record<string, unknown>> = { ...value };
  return (
    v === 1 &&
    [boot, uid, board].every((text) => typeof text === "string") &&
    [start, ran, length].every(Number.isFinite) &&
    Array.isArray(taints) &&
    taints.every((taint) => typeof taint === "string")
  );
}
