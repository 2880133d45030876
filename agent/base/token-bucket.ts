import { elapsed, type Instant, shifted } from "./clock.ts";

/** An allowance as a value. `level` lies between 0 and the burst it was filled to at the instant `at`. */
export interface TokenBucket {
  readonly level: number;
  readonly at: Instant;
}

export const fullBucket = (now: Instant, burst = 1): TokenBucket => ({ level: burst, at: now });
export const emptyBucket = (now: Instant): TokenBucket => ({ level: 0, at: now });

/** The bucket as of now. A rate of 0 never fills it. */
export function filled(bucket: TokenBucket, perSecond: number, now: Instant, burst = 1): TokenBucket {
  const gained = (Math.max(0, elapsed(bucket.at, now)) / 1000) * perSecond;
  return { level: Math.min(burst, bucket.level + gained), at: now };
}

/** Takes one token, if there is one. */
export function take(
  bucket: TokenBucket,
  perSecond: number,
  now: Instant,
  burst = 1,
): [granted: boolean, rest: TokenBucket] {
  const full = filled(bucket, perSecond, now, burst);
  // Rounding can leave the sum just below 1; that must not cost another pass.
  return full.level >= 1 - 1e-9 ? [true, { level: Math.max(0, full.level - 1), at: now }] : [false, full];
}

/** When the next token will be available; undefined if never. */
export function nextToken(bucket: TokenBucket, perSecond: number, now: Instant, burst = 1): Instant | undefined {
  const { level } = filled(bucket, perSecond, now, burst);
  if (level >= 1) return now;
  return perSecond > 0 ? shifted(now, ((1 - level) / perSecond) * 1000) : undefined;
}
