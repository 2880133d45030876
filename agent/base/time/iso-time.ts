import type { Millis } from "../clock.ts";

/**
 * Formats a wall time like `Date.toISOString`: RFC 3339 in UTC with milliseconds. `toISOString` itself makes V8 load
 * the data of the local time zone, a megabyte that is never freed, so it is used only for years outside 0 to 9999.
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
 * Parses a time in RFC 3339 from operators or other programs, to milliseconds since 1970; undefined if it is not one.
 * Refuses days that do not exist: `Date` would read 31 February as 3 March, a time that the author did not mean.
 */
export function readTime(written: string): Millis | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)(?:T|$)/.exec(written) ?? [];
  const wall = Date.parse(written);
  if (day === undefined || Number.isNaN(wall)) return undefined;
  const begins = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return begins.getUTCDate() === Number(day) ? wall : undefined;
}

const padded = (value: number, width: number): string => String(value).padStart(width, "0");
