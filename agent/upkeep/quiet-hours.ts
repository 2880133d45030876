import { type Instant, type Millis, shifted } from "../base/clock.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { CronWindow } from "../config/cron.ts";
import { lastBegin } from "./calendar.ts";
import type { Zone } from "./time-zone.ts";

/** A time during which nothing is evicted. */
export interface QuietTime {
  /** The end of the quiet time; undefined if the local time is unknown, and the quiet time lasts until it is known. */
  readonly until: Instant | undefined;
  readonly why: string;
}

/** The quiet time at a moment; undefined outside quiet hours. */
export type IsQuiet = (now: Instant, clock: ClockState) => QuietTime | undefined;

/**
 * The rule of the quiet hours. Pure: the end is computed from the calendar each time, so it follows corrections of the
 * clock and needs no memory. While the local time is unknown, it counts as quiet, because evictions can be made up for
 * later. `zone` is undefined if this board does not know the time zone of the quiet hours.
 */
export const quietHours =
  (windows: readonly CronWindow[], zone: Zone | undefined): IsQuiet =>
  (now, clock) => {
    if (windows.length === 0) return undefined;
    if (zone === undefined)
      return unknown("this board does not know the time zone of the quiet hours (board.timeZone)");
    if (clock === "unsynced")
      return unknown("the clock is not synchronised, so this board does not know whether quiet hours have begun");
    const ends = windows.flatMap(({ begins, lasts }) => {
      const begun = lastBegin(begins, zone, now.wall, lasts);
      return begun === undefined ? [] : [begun + lasts];
    });
    if (ends.length === 0) return undefined;
    const left: Millis = Math.max(...ends) - now.wall;
    return { until: shifted(now, left), why: "quiet hours" };
  };

const unknown = (why: string): QuietTime => ({ until: undefined, why });
