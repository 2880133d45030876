import type { Instant, Millis } from "../clock.ts";
import { recordIn } from "../json.ts";

/**
 * The stored end of something that outlives the process and the boot, such as a freeze. It is stored twice: as a wall
 * time and as a remaining time, because on a board without a battery clock the wall clock is wrong until it is set.
 */
export interface LastingEnd {
  /** The end by the wall clock, in milliseconds since 1970. */
  readonly until: Millis;
  /** Whether the wall clock was synchronised when `until` was computed from it. */
  readonly isTrusted: boolean;
  /** The time that remained at `mono`. */
  readonly left: Millis;
  /** The boot in which the end was stored. */
  readonly bootId: string;
  /** When the end was stored, on the monotonic clock of that boot. */
  readonly mono: Millis;
}

/** The current instant and boot, and whether the wall clock is synchronised. */
export interface Moment {
  readonly now: Instant;
  readonly bootId: string;
  readonly isSynced: boolean;
}

export const lastingEnd = (ttl: Millis, { now, bootId, isSynced }: Moment): LastingEnd => ({
  until: now.wall + ttl,
  isTrusted: isSynced,
  left: ttl,
  bootId,
  mono: now.mono,
});

/**
 * The remaining time; zero or less if the end has passed. Within a boot, the monotonic clock decides. After a reboot,
 * the wall clock decides if it is synchronised and was so when the end was stored; otherwise, the stored remaining time
 * counts from the boot, so the end may be later than requested by the time that the board was off
 * (docs/interfaces.md#clocks).
 */
export function remainingTime(end: LastingEnd, { now, bootId, isSynced }: Moment): Millis {
  if (bootId === end.bootId) return end.left - (now.mono - end.mono);
  if (isSynced && end.isTrusted) return Math.min(end.left, end.until - now.wall);
  return end.left - now.mono;
}

/** The same end with the currently remaining time. Storing it from time to time limits the delay that a reboot adds. */
export const checkpoint = (end: LastingEnd, moment: Moment): LastingEnd =>
  lastingEnd(remainingTime(end, moment), moment);

export const lastingEndText = (end: LastingEnd): string => JSON.stringify(end);

export function readLastingEnd(text: string): LastingEnd | undefined {
  const { until, isTrusted, left, bootId, mono } = recordIn(text) ?? {};
  const isWhole =
    typeof until === "number" &&
    typeof isTrusted === "boolean" &&
    typeof left === "number" &&
    typeof bootId === "string" &&
    typeof mono === "number";
  return isWhole ? { until, isTrusted, left, bootId, mono } : undefined;
}
