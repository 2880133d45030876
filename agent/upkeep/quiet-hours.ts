import { type Instant, type Millis, shifted } from "../base/clock.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Window } from "../config/cron.ts";
import { lastBegin } from "./calendar.ts";
import type { Zone } from "./time-zone.ts";

/** A time in which nothing is evicted. */
export interface Quiet {
  /** Undefined: it is unknown whether these are quiet hours, which counts as quiet until it is known. */
  readonly until: Instant | undefined;
  readonly why: string;
}

export type IsQuiet = (now: Instant, clock: ClockState) => Quiet | undefined;

/**
 * Pure: the end is computed from the calendar each time, so it survives a restart and follows corrections of the clock.
 * If quiet hours are set and the time is unknown, it is quiet: pods that stay too long can be evicted later. `zone`
 * undefined: this board does not know the time zone of the quiet hours.
 */
export const quietHours =
  (windows: readonly Window[], zone: Zone | undefined): IsQuiet =>
  (now, clock) => {
    if (windows.length === 0) return undefined;
    if (zone === undefined)
      return unknown("this board does not know the time zone of the quiet hours (board.timeZone)");
    if (clock === "unsynced") return unknown("the clock was not set since the start, and there are quiet hours");
    const ends = windows.flatMap(({ begins, lasts }) => {
      const begun = lastBegin(begins, zone, now.wall, lasts);
      return begun === undefined ? [] : [begun + lasts];
    });
    if (ends.length === 0) return undefined;
    const left: Millis = Math.max(...ends) - now.wall;
    return { until: shifted(now, left), why: "quiet hours" };
  };

const unknown = (why: string): Quiet => ({ until: undefined, why });
