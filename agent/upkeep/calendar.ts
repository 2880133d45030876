import type { Millis } from "../base/clock.ts";
import type { Cron } from "../config/cron.ts";
import type { Zone } from "./time-zone.ts";

const day: Millis = 86_400_000;

/** When it last began, `wall` included; `undefined`: not within `back` before it. */
export function lastBegin(cron: Cron, zone: Zone, wall: Millis, back: Millis): Millis | undefined {
  // A day more: the zone may have moved in between.
  const oldest = dayOf(wall - back, zone) - 1;
  for (let number = dayOf(wall, zone); number >= oldest; number--) {
    if (!isOnDay(cron, number)) continue;
    const begins = beginsOn(cron, number, zone).filter((at) => at <= wall && at > wall - back);
    if (begins.length > 0) return Math.max(...begins);
  }
  return undefined;
}

/** Counted from 1970, by the local calendar. */
const dayOf = (wall: Millis, zone: Zone): number => Math.floor((wall + zone.offsetAt(wall)) / day);

/** The day of the month and that of the week must both fit. */
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
 * A local time that comes twice, when summer time ends, is the first of the two. One that never comes is reckoned by the
 * offset before the gap, as RFC 5545 (3.3.5) has it: what begins then is not left out.
 */
function wallOf(local: Millis, zone: Zone): Millis {
  const before = zone.offsetAt(local - day);
  const after = zone.offsetAt(local + day);
  const first = local - before;
  if (zone.offsetAt(first) === before) return first;
  const second = local - after;
  return zone.offsetAt(second) === after ? second : first;
}
