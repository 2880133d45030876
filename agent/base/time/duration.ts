import type { Millis } from "../clock.ts";

const units: Readonly<Record<string, Millis>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const maxTextLength = 64;

/**
 * The longest time before or after now whose date can be shown: the dates of JavaScript, and of any clock here, end 100
 * million days after 1970.
 */
export const longestTime = "99000000d";
const longest: Millis = 99_000_000 * 86_400_000;

/** Like `parseDuration`, but "too long" for more than `longestTime`. */
export function parseTimeFromNow(text: string): Millis | "too long" | undefined {
  const duration = parseDuration(text);
  return duration !== undefined && duration > longest ? "too long" : duration;
}

/** Parses "90s", "1h30m" or "250ms" to milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): Millis | undefined {
  if (text.length > maxTextLength) return undefined;
  const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/y;
  let total = 0;
  do {
    const [, amount, unit] = part.exec(text) ?? [];
    if (unit === undefined) return undefined;
    total += Number(amount) * (units[unit] ?? 0);
  } while (part.lastIndex < text.length);
  return total;
}

/** Formats milliseconds for people, rounded to at most two units: "250ms", "40s", "2m5s", "3h58m", "2d4h". */
export function formatDuration(duration: Millis): string {
  if (duration < 0) return `-${formatDuration(-duration)}`;
  if (Math.round(duration) < 1000) return `${Math.round(duration)}ms`;
  const seconds = Math.round(duration / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
}
