import type { Millis } from "./clock.ts";

export interface BackoffLimits {
  readonly first: Millis;
  readonly most: Millis;
}

/** Doubles with each failure: `failures` = 1 gives `first`. Safe for any count. */
export const backoff = (failures: number, { first, most }: BackoffLimits): Millis =>
  Math.min(most, first * 2 ** Math.min(60, Math.max(0, failures - 1)));
