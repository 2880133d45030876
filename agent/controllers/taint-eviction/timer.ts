import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import type { Durable } from "../../loop/controller.ts";

/** The time that a pod may still stay on its tainted board. */
export interface Timer {
  readonly uid: string;
  readonly board: string;
  readonly start: Instant;
  readonly length: Millis;
  /** Identities of the taints that started the window. */
  readonly taints: readonly string[];
  /** When it was last computed. */
  readonly at: Instant;
  /** Loaded from an earlier term, and not computed again since. */
  readonly loaded: boolean;
  /** It comes from an earlier boot: the time between the boots is unknown. */
  readonly carried: boolean;
  /** It began in an earlier term, on this board or another; changes between the terms are unknown. */
  readonly former: boolean;
  /** When the API accepted the deletion of the pod. */
  readonly asked: Instant | undefined;
  /** Failed attempts to delete the pod. */
  readonly tries: number;
  /** The pod changed between our last read and its deletion: the next read goes past the cache. */
  readonly overtaken: boolean;
}

export const deadlineOf = ({ start, length }: Timer): Instant => shifted(start, length);

export interface TimerCounts {
  /** Timers still running. */
  readonly waiting: number;
  /** Expired timers whose pod is still there: its eviction is held, or failed. */
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
 * Stores a timer as text. Its start is monotonic, valid for one boot of one board; after a reboot only the time it had
 * run when it was written remains.
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
