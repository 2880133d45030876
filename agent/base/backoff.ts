import type { Millis } from "./clock.ts";

export interface BackoffLimits {
  /** The delay after the first failure. */
  readonly first: Millis;
  /** The longest delay. */
  readonly max: Millis;
}

/** The delay after this many consecutive failures: `first` after one, then doubling each time. */
export const backoff = (failures: number, { first, max }: BackoffLimits): Millis =>
  Math.min(max, first * 2 ** Math.min(60, Math.max(0, failures - 1)));
