import { type BackoffLimits, backoff } from "../base/backoff.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { fullBucket, type Rate, reserve, type TokenBucket } from "../base/token-bucket.ts";

/** The backoff of each key, and the combined rate of retries of all keys of a queue. */
export interface RetryLimits extends BackoffLimits, Rate {}

/** The same limits as client-go's default rate limiter for controllers. */
export const defaultRetryLimits: RetryLimits = { first: 5, max: 1_000_000, perSecond: 10, burst: 100 };

/** Delays the retries of failed keys: by the key's backoff or the queue's rate limit, whichever is longer. */
export class RetryLimiter {
  readonly #limits: RetryLimits;
  readonly #failures = new Map<string, number>();
  #bucket: TokenBucket | undefined;

  constructor(limits: RetryLimits = defaultRetryLimits) {
    this.#limits = limits;
  }

  /** Counts a failure of the key and returns its delay. */
  delay(key: string, now: Instant): Millis {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    const [wait, rest] = reserve(this.#bucket ?? fullBucket(now, this.#limits.burst), this.#limits, now);
    this.#bucket = rest;
    return Math.max(backoff(failures, this.#limits), wait);
  }

  /** The key's number of failures in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
}
