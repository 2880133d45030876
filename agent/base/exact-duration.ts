import type { Millis } from "./clock.ts";

const units: readonly (readonly [string, Millis])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** In the largest unit that says it exactly, so that what is shown can be written back and means the same. */
export function exactDuration(value: Millis): string {
  const [unit, size] = units.find(([, size]) => value >= size && value % size === 0) ?? ["ms", 1];
  return `${value / size}${unit}`;
}
