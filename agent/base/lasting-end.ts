import type { Instant, Millis } from "./clock.ts";
import { recordIn } from "./json.ts";

/**
 * The end of something that outlives the process and the boot, such as a freeze. On a board without a battery clock the
 * wall clock is meaningless until it is set, so the remaining time is stored too, with the boot and the moment of
 * writing.
 */
export interface LastingEnd {
  readonly until: Millis;
  /** The wall clock was synchronised when `until` was computed from it. */
  readonly isTrusted: boolean;
  readonly left: Millis;
  readonly bootId: string;
  /** On that boot's monotonic clock, which every process of the boot shares. */
  readonly mono: Millis;
}

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
 * The remaining time; zero or less: it is over. Within a boot the monotonic clock decides. After a reboot the wall
 * clock does, if it could be trusted then and can be now; otherwise the remaining time counts from the boot: it may
 * last longer than requested by the time the board was off, and never shorter (docs/interfaces.md#clocks).
 */
export function left(end: LastingEnd, { now, bootId, isSynced }: Moment): Millis {
  if (bootId === end.bootId) return end.left - (now.mono - end.mono);
  if (isSynced && end.isTrusted) return Math.min(end.left, end.until - now.wall);
  return end.left - now.mono;
}

/** The same end as of now: storing it again shortens what a reboot would add. */
export const checkpoint = (end: LastingEnd, moment: Moment): LastingEnd => lastingEnd(left(end, moment), moment);

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
