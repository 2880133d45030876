import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { jitter, type Random } from "../base/random.ts";

/** The backoff state of a stream, as in client-go's reflectors since 1.32. */
export interface RetryPace {
  readonly failures: number;
  /** When the sequence last restarted. */
  readonly since: Instant;
}

const limits = { first: 800, most: 30_000 };
const resetAfter: Millis = 120_000;

/** Boards without urgency spread their return to a commonly lost server over this time. */
const calmSpread: Millis = 30_000;

/** The wait of a board without urgency: one that does not lead keeps its watches for later. */
export const calmly = (wait: Millis, random: Random): Millis => Math.max(wait, random.next() * calmSpread);

/**
 * Uniform in [d, 2d) for d = 0.8 s, 1.6 s, … 30 s, so that boards that lost the same server do not return together. The
 * sequence restarts two minutes after its last start, even while the failure lasts, so that a recovered server is found
 * soon.
 */
export function nextWait(pace: RetryPace | undefined, now: Instant, random: Random): [wait: Millis, pace: RetryPace] {
  const fresh = pace === undefined || elapsed(pace.since, now) > resetAfter;
  const next = fresh ? { failures: 1, since: now } : { failures: pace.failures + 1, since: pace.since };
  return [jitter(random, backoff(next.failures, limits), 1), next];
}
