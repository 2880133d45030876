import type { Millis } from "./clock.ts";

/**
 * RFC 3339 in UTC with milliseconds: what `Date.toISOString` writes. For that V8 looks up the board's time zone with all
 * its names, which is a megabyte that stays; so only years of more or less than four digits go that way.
 */
export function isoTime(wall: Millis): string {
  const at = new Date(wall);
  const year = at.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return at.toISOString();
  const date = `${padded(year, 4)}-${padded(at.getUTCMonth() + 1, 2)}-${padded(at.getUTCDate(), 2)}`;
  const time = `${padded(at.getUTCHours(), 2)}:${padded(at.getUTCMinutes(), 2)}:${padded(at.getUTCSeconds(), 2)}`;
  return `${date}T${time}.${padded(at.getUTCMilliseconds(), 3)}Z`;
}

/**
 * A time as people and other programs write it, in RFC 3339; undefined: it is none. `Date` takes the 31st of February for the
 * third of March, and an end that nobody wrote must not be kept to.
 */
export function readTime(written: string): Millis | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)(?:T|$)/.exec(written) ?? [];
  const wall = Date.parse(written);
  if (day === undefined || Number.isNaN(wall)) return undefined;
  const begins = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return begins.getUTCDate() === Number(day) ? wall : undefined;
}

const padded = (value: number, width: number): string => String(value).padStart(width, "0");
