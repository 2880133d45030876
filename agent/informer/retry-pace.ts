import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { jitter, type Random } from "../base/random.ts";

/** How a stream waits between its tries, as client-go's reflectors do since 1.32. */
export interface RetryPace {
  readonly failures: number;
  /** When the sequence last began anew. */
  readonly since: Instant;
}

const limits = { first: 800, most: 30_000 };
const resetAfter: Millis = 120_000;

/** Within so long, those who are in no hurry come back to a server that they all lost together. */
const calmSpread: Millis = 30_000;

/** How long one waits who is in no hurry: a board that does not lead keeps its watches for later. */
export const calmly = (wait: Millis, random: Random): Millis => Math.max(wait, random.next() * calmSpread);

/**
 * Uniform in [d, 2d) for d = 0.8 s, 1.6 s, … 30 s: boards that lost the same server do not come back together.
 * The sequence begins anew two minutes after it last did, also while the failure lasts, so that a server that is back
 * is found soon.
 */
export function nextWait(pace: RetryPace | undefined, now: Instant, random: Random): [wait: Millis, pace: RetryPace] {
  const fresh = pace === undefined || elapsed(pace.since, now) > resetAfter;
  const next = fresh ? { failures: 1, since: now } : { failures: pace.failures + 1, since: pace.since };
  return [jitter(random, backoff(next.failures, limits), 1), next];
}
