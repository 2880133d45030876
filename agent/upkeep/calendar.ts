import type { Millis } from "../base/clock.ts";
import type { Cron } from "../config/cron.ts";
import type { Zone } from "./time-zone.ts";

const day: Millis = 86_400_000;

/** The last start of the schedule at or before `wall`; `undefined`: none within `back` before it. */
export function lastBegin(cron: Cron, zone: Zone, wall: Millis, back: Millis): Millis | undefined {
  // One more day, in case the zone's offset changed in between.
  const oldest = dayOf(wall - back, zone) - 1;
  for (let number = dayOf(wall, zone); number >= oldest; number--) {
    if (!isOnDay(cron, number)) continue;
    const begins = beginsOn(cron, number, zone).filter((at) => at <= wall && at > wall - back);
    if (begins.length > 0) return Math.max(...begins);
  }
  return undefined;
}

/** Days since 1970 in the local calendar. */
const dayOf = (wall: Millis, zone: Zone): number => Math.floor((wall + zone.offsetAt(wall)) / day);

/** Day of month and day of week must both match. */
function isOnDay({ months, daysOfMonth, daysOfWeek }: Cron, number: number): boolean {
  const date = new Date(number * day);
  return (
    months.includes(date.getUTCMonth() + 1) &&
    daysOfMonth.includes(date.getUTCDate()) &&
    daysOfWeek.includes(date.getUTCDay())
  );
}

const beginsOn = ({ hours, minutes }: Cron, number: number, zone: Zone): readonly Millis[] =>
  hours.flatMap((hour) => minutes.map((minute) => wallOf(number * day + (hour * 60 + minute) * 60_000, zone)));

/**
 * A local time that occurs twice, at the end of summer time, is the first of the two. One that does not occur uses the
 * offset before the gap (RFC 5545, 3.3.5), so that what starts then is not skipped.
 */
function wallOf(local: Millis, zone: Zone): Millis {
  const before = zone.offsetAt(local - day);
  const after = zone.offsetAt(local + day);
  const first = local - before;
  if (zone.offsetAt(first) === before) return first;
  const second = local - after;
  return zone.offsetAt(second) === after ? second : first;
}
