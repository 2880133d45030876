import { backoff } from "../../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { jitter, type Random } from "../../base/random.ts";
import { ApiError, isNotFound } from "../../client/api-error.ts";

/** The state of a stream's backoff. The backoff is the same as in client-go's reflectors since 1.32. */
export interface RetryPace {
  /** Number of failures since the sequence last started. */
  readonly failures: number;
  /** When the sequence last started. */
  readonly since: Instant;
}

const limits = { first: 800, max: 30_000 };
const resetAfter: Millis = 120_000;

/** Boards that do not lead spread their retries over this time, because many may have lost the same server. */
const calmSpread: Millis = 30_000;

/** The wait of a board that does not lead: its own backoff, or a longer random one. */
export const spreadOut = (wait: Millis, random: Random): Millis => Math.max(wait, random.next() * calmSpread);

/**
 * The wait after a failure: random in [d, 2d) for d = 0.8 s, 1.6 s, … 30 s, so that boards that lost the same server do
 * not reconnect at the same time. The sequence starts again two minutes after its last start, even while failures
 * continue, so that a recovered server is found soon.
 */
export function nextWait(pace: RetryPace | undefined, now: Instant, random: Random): [wait: Millis, pace: RetryPace] {
  const fresh = pace === undefined || elapsed(pace.since, now) > resetAfter;
  const next = fresh ? { failures: 1, since: now } : { failures: pace.failures + 1, since: pace.since };
  return [jitter(random, backoff(next.failures, limits), 1), next];
}

/** Pause before the next request to a server that does not serve the resource. */
const pauseWhereNotServed: Millis = 60_000;

/** Minimum wait before the next request: the server's Retry-After; longer if it does not serve the resource. */
export function pauseAfter(error: unknown): Millis {
  const wanted = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  return Math.max(wanted, isNotFound(error) ? pauseWhereNotServed : 0);
}
