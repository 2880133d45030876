import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import type { Durable } from "../../loop/controller.ts";

/** A pod's time beside the taints of its board. */
export interface Timer {
  readonly uid: string;
  readonly board: string;
  readonly start: Instant;
  readonly length: Millis;
  /** Identities of the taints that it belongs to. */
  readonly taints: readonly string[];
  /** When it was last worked out. */
  readonly at: Instant;
  /** It was kept from an earlier term, and nothing was worked out since. */
  readonly loaded: boolean;
  /** It ran in an earlier boot: how long it ran meanwhile is not known from here. */
  readonly carried: boolean;
  /** It began in an earlier term, on this board or another: what happened between the terms is not known. */
  readonly former: boolean;
  /** When the deletion of the pod was accepted. */
  readonly asked: Instant | undefined;
  /** How often the deletion was tried in vain. */
  readonly tries: number;
  /** The pod was written between the last read of it and its deletion: the next read is past the cache. */
  readonly overtaken: boolean;
}

export const deadlineOf = ({ start, length }: Timer): Instant => shifted(start, length);

export interface TimerCounts {
  /** Toleration times that run. */
  readonly waiting: number;
  /** Times that are over while the pod is still there: its eviction is held, or did not go through. */
  readonly due: number;
}

export function countTimers(timers: Iterable<Timer | undefined>, now: Instant): TimerCounts {
  let [waiting, due] = [0, 0];
  for (const timer of timers) {
    if (timer === undefined || timer.asked !== undefined) continue;
    if (deadlineOf(timer).mono > now.mono) waiting++;
    else due++;
  }
  return { waiting, due };
}

/**
 * A timer as text. Its start is an instant of the monotonic clock, true for one boot of one board; after a reboot only
 * what had run when it was written is left of it.
 */
export const durableTimers = (boot: string): Durable<Timer | undefined> => ({
  save(timer) {
    if (timer === undefined || timer.asked !== undefined) return undefined;
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
    const anew = { asked: undefined, tries: 0, overtaken: false };
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
