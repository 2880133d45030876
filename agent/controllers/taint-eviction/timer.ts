import { isLifecycleKey } from "../../api/taints.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import type { Durable } from "../../loop/controller.ts";
import { keyOfIdentity } from "./toleration-time.ts";

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
    const anew = { sentAt: undefined, tries: 0, overtaken: false, doubted: false };
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
