import { elapsed, type Instant, type Millis, shifted } from "./clock.ts";

export interface Rate {
  /** Tokens added per second. */
  readonly perSecond: number;
  /** Maximum number of tokens in a bucket, and so of uses in a burst after a pause. */
  readonly burst: number;
}

/**
 * A token bucket at the instant `at`. `level`: its tokens. A negative level means that this many future tokens are
 * reserved.
 */
export interface TokenBucket {
  readonly level: number;
  readonly at: Instant;
}

export const fullBucket = (now: Instant, burst: number): TokenBucket => ({ level: burst, at: now });
export const emptyBucket = (now: Instant): TokenBucket => ({ level: 0, at: now });

/** Rounding errors may leave the level just below 1; the token still counts as complete. */
export const hasToken = ({ level }: Pick<TokenBucket, "level">): boolean => level >= 1 - 1e-9;

/** The bucket at `now`, with the tokens added since. */
export function refill({ level, at }: TokenBucket, { perSecond, burst }: Rate, now: Instant): TokenBucket {
  const gained = (Math.max(0, elapsed(at, now)) / 1000) * perSecond;
  return { level: Math.min(burst, level + gained), at: now };
}

/** Takes one token if there is one. Returns whether it did, and the bucket at `now`. */
export function take(bucket: TokenBucket, rate: Rate, now: Instant): [granted: boolean, rest: TokenBucket] {
  const present = refill(bucket, rate, now);
  return hasToken(present) ? [true, { level: Math.max(0, present.level - 1), at: now }] : [false, present];
}

/** Takes one token, if necessary a future one. Returns how long to wait for it, and the bucket at `now`. */
export function reserve(bucket: TokenBucket, rate: Rate, now: Instant): [wait: Millis, rest: TokenBucket] {
  const level = refill(bucket, rate, now).level - 1;
  return [level >= 0 ? 0 : (-level / rate.perSecond) * 1000, { level, at: now }];
}

/** When the next token is available: `now` if there is one, undefined if there will never be one. */
export function nextToken(bucket: TokenBucket, rate: Rate, now: Instant): Instant | undefined {
  const present = refill(bucket, rate, now);
  if (hasToken(present)) return now;
  return rate.perSecond > 0 ? shifted(now, ((1 - present.level) / rate.perSecond) * 1000) : undefined;
}
