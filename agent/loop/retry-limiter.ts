import { type BackoffLimits, backoff } from "../base/backoff.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { filled, fullBucket, type TokenBucket } from "../base/token-bucket.ts";

export interface RetryLimits extends BackoffLimits {
  /** For all keys of a queue together. */
  readonly perSecond: number;
  readonly burst: number;
}

/** As client-go's default controller limiter. */
export const defaultRetryLimits: RetryLimits = { first: 5, most: 1_000_000, perSecond: 10, burst: 100 };

/** Takes a token, on credit if the bucket is empty, and returns how long to wait until it is earned. */
export function reserve(
  bucket: TokenBucket,
  perSecond: number,
  now: Instant,
  burst: number,
): [wait: Millis, rest: TokenBucket] {
  const level = filled(bucket, perSecond, now, burst).level - 1;
  return [level >= 0 ? 0 : (-level / perSecond) * 1000, { level, at: now }];
}

/** When a failed key may come again: after its own backoff or when the queue's rate permits, whichever is later. */
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
    const { perSecond, burst } = this.#limits;
    const [wait, rest] = reserve(this.#bucket ?? fullBucket(now, burst), perSecond, now, burst);
    this.#bucket = rest;
    return Math.max(backoff(failures, this.#limits), wait);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
}
