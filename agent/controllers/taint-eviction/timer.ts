import { isLifecycleKey } from "../../api/taints.ts";
import { earlierOf, elapsed, type Instant, laterOf, type Millis, shifted } from "../../base/clock.ts";
import type { StayReason } from "../../decisions/grounds.ts";
import type { Durable } from "../../loop/controller.ts";
import type { RunningTaint } from "../node-lifecycle/zones/budget.ts";
import { notBegun, type PodDeletion } from "./deletion.ts";
import type { BoundPod } from "./pod-state.ts";
import { identityOf, isDated, keyOfIdentity, minLength, type TolerationTime } from "./toleration-time.ts";

/** The time that a pod may still stay on its tainted board. */
export interface EvictionTimer {
  readonly uid: string;
  readonly board: string;
  readonly start: Instant;
  /**
   * When the silent board last reported again (policy `evidence`): the windows of our own taints begin anew then, because
   * the pod may have been held past the end of its former one. Undefined if it has not.
   */
  readonly back: Instant | undefined;
  /** The time from `start` to the end of the first window. */
  readonly length: Millis;
  /** Identities of the taints that the window belongs to. */
  readonly taints: readonly string[];
  /** When the timer was last computed. */
  readonly at: Instant;
  readonly origin: TimerOrigin;
  readonly deletion: PodDeletion;
  /** Set if the pod was already being deleted when an eviction was last held back. */
  readonly isTerminating?: boolean;
  /** Why the pod stays, as an Event reported it last; undefined if none has. */
  readonly explained: StayReason | undefined;
}

/**
 * Where a timer comes from:
 *
 * event                                | function      | origin
 * -------------------------------------|---------------|-----------------------------------------------
 * a window begins                      | `timerOf`     | earlier term if its taint began then, else this
 * the timer is loaded in the same boot | `load`        | loaded
 * the timer is loaded after a reboot   | `load`        | loaded after a reboot
 * the window of a loaded timer goes on | `timerOf`     | earlier term
 * the window of another timer goes on  | `timerOf`     | unchanged
 */
export type TimerOrigin =
  | "this term"
  /** The window began in an earlier term, of this board or another, so it is not known what changed between the terms. */
  | "earlier term"
  /** The same, and the timer was stored then and has not been computed since. */
  | "loaded"
  /** The same, and the board has been rebooted since. It is unknown how long it was off. */
  | "loaded after a reboot";

type Window = Pick<EvictionTimer, "start" | "back">;

const isLoaded = ({ origin }: EvictionTimer): boolean => origin === "loaded" || origin === "loaded after a reboot";

/** Whether the pod's window began in an earlier term. */
export const isOfEarlierTerm = ({ origin }: EvictionTimer): boolean => origin !== "this term";

/** Whether the deletion of the pod was sent, and has not failed. */
export const isSent = ({ deletion }: EvictionTimer): boolean => deletion.sentAt !== undefined;

/** Whether the timer runs for nothing but our own taints. */
export const isOfOwnTaints = ({ taints }: Pick<EvictionTimer, "taints">): boolean =>
  taints.every((taint) => isLifecycleKey(keyOfIdentity(taint)));

export const deadlineOf = ({ start, length }: EvictionTimer): Instant => shifted(start, length);

/**
 * For how many whole milliseconds the timer has run. A deadline is a whole number of milliseconds after the start.
 * Because of rounding errors in the clock's fractions, the last of these milliseconds may appear incomplete.
 */
export const ranFor = ({ start }: Pick<EvictionTimer, "start">, now: Instant): Millis =>
  Math.max(0, Math.floor(elapsed(start, now) + 1e-3));

/** When the window of a taint began. */
const beganAt = ({ start, back }: Window, { taint }: TolerationTime): Instant =>
  isLifecycleKey(taint.key) ? laterOf(start, back) : start;

/** For how many whole milliseconds the window of a taint has run. */
export const ranSince = (timer: Window, window: TolerationTime, now: Instant): Millis =>
  ranFor({ start: beganAt(timer, window) }, now);

/** The time from the start of a timer to the end of the first of these windows. */
const firstEnd = (timer: Window, windows: readonly TolerationTime[]): Millis =>
  minLength(
    windows.map((window) => ({
      ...window,
      length: Math.ceil(elapsed(timer.start, beganAt(timer, window))) + window.length,
    })),
  );

/**
 * The timer of a pod. A window keeps its start as long as one of its taints remains; its length may change. Other
 * taints, or another board, start a new window. Swapping unreachable and not-ready does not, because the board is still
 * lost. A pod that does not tolerate its taint has a window of length 0. `reported`: when the silent board last reported
 * again.
 *
 * A window stored in an earlier term continues only for a taint with `timeAdded`. A taint without one, such as kubectl
 * sets, may have been removed and set again between the terms without any visible difference.
 */
export function timerOf(
  { pod, board, inherited }: Pick<BoundPod, "pod" | "board" | "inherited">,
  windows: readonly TolerationTime[],
  memory: EvictionTimer | undefined,
  reported: Instant | undefined,
  now: Instant,
): EvictionTimer {
  const taints = windows.map(({ taint }) => identityOf(taint));
  const keepsStart = (timer: EvictionTimer): boolean =>
    taints.some((taint) => timer.taints.includes(taint) && (!isLoaded(timer) || isDated(taint))) ||
    (!isLoaded(timer) && isExchanged(timer.taints, taints));
  const before = memory?.board === board && keepsStart(memory) ? memory : undefined;
  const back = laterOf(before?.back, reported);
  const isExact = before !== undefined && before.origin !== "loaded after a reboot";
  const isUnchanged = isExact && before.back === back && isSameSet(before.taints, taints);
  if (isUnchanged && before.length === firstEnd(before, windows)) {
    return isLoaded(before) ? { ...before, origin: "earlier term" } : before;
  }
  const inheritedStart = isExact ? undefined : runningSince(inherited, windows);
  const isFormer = before ? isOfEarlierTerm(before) : inheritedStart !== undefined;
  const start = earlierOf(before?.start ?? now, inheritedStart);
  return {
    uid: pod.metadata.uid,
    board,
    start,
    back,
    length: firstEnd({ start, back }, windows),
    taints,
    at: now,
    origin: isFormer ? "earlier term" : "this term",
    deletion: before?.deletion ?? notBegun,
    explained: before?.explained,
  };
}

/**
 * Whether one of our two taints was swapped for the other. Not used across terms, because taints may have been removed
 * and added many times between them.
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
    if (timer === undefined || isSent(timer) || timer.isTerminating) continue;
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
    if (timer === undefined || isSent(timer)) return undefined;
    const { uid, board, start, back, length, taints, at } = timer;
    const began = { start: start.mono, ran: elapsed(start, at), ...(back && { backAfter: elapsed(start, back) }) };
    return JSON.stringify({ v: 1, boot, uid, board, ...began, length, taints });
  },
  load(text, now) {
    const written: unknown = JSON.parse(text);
    if (!isWritten(written)) throw new Error("the stored timer is malformed or has an unknown format version");
    const { uid, board, length, taints, backAfter } = written;
    const [origin, ran] =
      written.boot === boot
        ? (["loaded", now.mono - written.start] as const)
        : (["loaded after a reboot", written.ran] as const);
    const start = shifted(now, -Math.max(0, ran));
    const back = backAfter === undefined ? undefined : shifted(start, backAfter);
    return { uid, board, start, back, length, taints, at: now, origin, deletion: notBegun, explained: undefined };
  },
});

interface Written {
  readonly boot: string;
  readonly uid: string;
  readonly board: string;
  readonly start: Millis;
  readonly ran: Millis;
  /** The time from the start to `back`. */
  readonly backAfter?: Millis;
  readonly length: Millis;
  readonly taints: readonly string[];
}

function isWritten(value: unknown): value is Written {
  if (typeof value !== "object" || value === null) return false;
  const {
    v,
    boot,
    uid,
    board,
    start,
    ran,
    backAfter = 0,
    length,
    taints,
  }: Readonly<Record<string, unknown>> = { ...value };
  return (
    v === 1 &&
    [boot, uid, board].every((text) => typeof text === "string") &&
    [start, ran, backAfter, length].every(Number.isFinite) &&
    Array.isArray(taints) &&
    taints.every((taint) => typeof taint === "string")
  );
}
