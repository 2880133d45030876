import type { Millis } from "../clock.ts";

const units: readonly (readonly [string, Millis])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** Formats milliseconds in the largest unit that divides them ("90s", "2m"), so that parsing returns the same value. */
export function exactDuration(value: Millis): string {
  const [unit, size] = units.find(([, size]) => value >= size && value % size === 0) ?? ["ms", 1];
  return `${value / size}${unit}`;
}
