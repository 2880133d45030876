import type { Millis } from "./clock.ts";

const units: readonly (readonly [string, Millis])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** Uses the largest unit that is exact, so that the text can be written back with the same meaning. */
export function exactDuration(value: Millis): string {
  const [unit, size] = units.find(([, size]) => value >= size && value % size === 0) ?? ["ms", 1];
  return `${value / size}${unit}`;
}
