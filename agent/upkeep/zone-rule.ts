import type { Millis } from "../base/clock.ts";

/** A rule for the time after a zone's last known transition. Offsets are from UTC. */
export interface Rule {
  readonly standard: Millis;
  /** Undefined without summer time. */
  readonly summer: { readonly offset: Millis; readonly begins: RuleDay; readonly ends: RuleDay } | undefined;
}

interface RuleDay {
  readonly day: /** A weekday (0: Sunday) of a month (1 to 12); week 5 is its last occurrence. */
    | { readonly month: number; readonly week: number; readonly weekday: number }
    /** Day of the year from 1; 29 February is never counted. */
    | { readonly julian: number }
    /** Day of the year from 0. */
    | { readonly ordinal: number };
  /** Local time, in milliseconds after midnight; may be negative or longer than a day. */
  readonly time: Millis;
}

const day: Millis = 86_400_000;

const name = "(?:<[^>]+>|[A-Za-z]{3,})";
const hours = "[+-]?\\d{1,3}(?::\\d{1,2}){0,2}";
const form = new RegExp(`^${name}(${hours})(?:${name}(${hours})?(?:,([^,]+),([^,]+))?)?$`);

/**
 * Parses a POSIX TZ string such as "CET-1CEST,M3.5.0,M10.5.0/3", including times beyond a day, as RFC 9636 permits.
 * Undefined if it is invalid.
 */
export function ruleFrom(text: string): Rule | undefined {
  const [, standard, summer, begins, ends] = form.exec(text) ?? [];
  if (standard === undefined) return undefined;
  const offset = 0 - timeOf(standard);
  if (begins === undefined || ends === undefined) return { standard: offset, summer: undefined };
  const [first, last] = [ruleDayFrom(begins), ruleDayFrom(ends)];
  if (first === undefined || last === undefined) return undefined;
  const ahead = summer === undefined ? offset + 3_600_000 : 0 - timeOf(summer);
  return { standard: offset, summer: { offset: ahead, begins: first, ends: last } };
}

function ruleDayFrom(text: string): RuleDay | undefined {
  const [date = "", at] = text.split("/");
  const time = at === undefined ? 2 * 3_600_000 : timeOf(at);
  if (Number.isNaN(time)) return undefined;
  const [, month, week, weekday] = /^M(\d{1,2})\.(\d)\.(\d)$/.exec(date) ?? [];
  if (month !== undefined) {
    const on = { month: Number(month), week: Number(week), weekday: Number(weekday) };
    const isDay = on.month >= 1 && on.month <= 12 && on.week >= 1 && on.week <= 5 && on.weekday <= 6;
    return isDay ? { day: on, time } : undefined;
  }
  const [, mark, number] = /^(J?)(\d{1,3})$/.exec(date) ?? [];
  if (number === undefined) return undefined;
  return { day: mark === "J" ? { julian: Number(number) } : { ordinal: Number(number) }, time };
}

function timeOf(text: string): Millis {
  const [hour = 0, minute = 0, second = 0] = text.replace(/^[+-]/, "").split(":").map(Number);
  return (text.startsWith("-") ? -1 : 1) * (hour * 3600 + minute * 60 + second) * 1000;
}

/** The offset from UTC at a moment in milliseconds since 1970. */
export function ruleOffset({ standard, summer }: Rule, wall: Millis): Millis {
  if (summer === undefined) return standard;
  const year = new Date(wall + standard).getUTCFullYear();
  // Start and end are local times: the start in standard time, the end in summer time.
  const begins = startOf(summer.begins, year) - standard;
  const ends = startOf(summer.ends, year) - summer.offset;
  // In the southern hemisphere, summer time spans New Year.
  const isSummer = begins < ends ? wall >= begins && wall < ends : wall >= begins || wall < ends;
  return isSummer ? summer.offset : standard;
}

/** The moment of a RuleDay in a year, as if local time were UTC. */
function startOf({ day: on, time }: RuleDay, year: number): Millis {
  const newYear = Date.UTC(year, 0, 1);
  if ("ordinal" in on) return newYear + on.ordinal * day + time;
  if ("julian" in on) {
    const isLeap = Date.UTC(year, 1, 29) !== Date.UTC(year, 2, 1);
    return newYear + (on.julian - 1 + (isLeap && on.julian >= 60 ? 1 : 0)) * day + time;
  }
  const first = Date.UTC(year, on.month - 1, 1);
  const offset = (on.weekday - new Date(first).getUTCDay() + 7) % 7;
  let at = first + (offset + 7 * (on.week - 1)) * day;
  // The fifth occurrence means the last one.
  while (new Date(at).getUTCMonth() !== on.month - 1) at -= 7 * day;
  return at + time;
}
