import type { Millis } from "../base/clock.ts";
import type { Cron } from "../config/cron.ts";
import type { Zone } from "./time-zone.ts";

const day: Millis = 86_400_000;

/** The last start of the schedule within the time `back` before `wall`; undefined if there is none. */
export function lastBegin(cron: Cron, zone: Zone, wall: Millis, back: Millis): Millis | undefined {
  // Begins one day earlier, because the zone's offset may have changed since then.
  const oldest = dayOf(wall - back, zone) - 1;
  for (let number = dayOf(wall, zone); number >= oldest; number--) {
    if (!isOnDay(cron, number)) continue;
    const begins = beginsOn(cron, number, zone).filter((at) => at <= wall && at > wall - back);
    if (begins.length > 0) return Math.max(...begins);
  }
  return undefined;
}

/** The local date, as days since 1970. */
const dayOf = (wall: Millis, zone: Zone): number => Math.floor((wall + zone.offsetAt(wall)) / day);

/** Whether the schedule starts on this date. Day of month and day of week must both match. */
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
 * The moment of a local time. If it occurs twice, at the end of summer time, the first one is used. If it does not
 * occur, the offset before the gap applies (RFC 5545, 3.3.5), so that no start is skipped.
 */
function wallOf(local: Millis, zone: Zone): Millis {
  const before = zone.offsetAt(local - day);
  const after = zone.offsetAt(local + day);
  const first = local - before;
  if (zone.offsetAt(first) === before) return first;
  const second = local - after;
  return zone.offsetAt(second) === after ? second : first;
}
