import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * Whether boards can renew their Leases, as far as the leader's renewals of its own Lease show. While the API server
 * refuses writes or does not answer them, no heartbeat gets through, although watches may stay open and reads may
 * succeed: silence during that time says nothing about a board.
 */
export interface WriteHealth {
  /** When the first of the renewals that have not succeeded was begun; undefined: the last one succeeded. */
  readonly pendingSince: Instant | undefined;
  /** One of those renewals has failed; otherwise the answer may only be slow. */
  readonly hasFailed: boolean;
  /** How long the last successful renewal took. */
  readonly lastTook: Millis;
  /** When writes last succeeded again after an interruption longer than a blip; undefined: they never did. */
  readonly restoredAt: Instant | undefined;
}

/** The health after the claim with which a term begins. */
export const firstWrite = (took: Millis): WriteHealth => ({
  pendingSince: undefined,
  hasFailed: false,
  lastTook: took,
  restoredAt: undefined,
});

/** The health of a board that does not lead: it renews nothing and judges no boards. */
export const neverWritten: WriteHealth = firstWrite(0);

export const begun = (health: WriteHealth, at: Instant): WriteHealth => ({
  ...health,
  pendingSince: health.pendingSince ?? at,
});

export const failed = (health: WriteHealth): WriteHealth => ({ ...health, hasFailed: true });

/** The health after a renewal that was begun at `began` succeeded. */
export const succeeded = (health: WriteHealth, began: Instant, blip: Millis, now: Instant): WriteHealth => ({
  ...firstWrite(elapsed(began, now)),
  restoredAt: isInterrupted(health, blip, now) ? now : health.restoredAt,
});

/**
 * Whether writes have been interrupted for longer than a blip. A renewal on its way counts only once it takes much
 * longer than the last one: answers may be slow on a slow link.
 */
export const isInterrupted = (
  { pendingSince, hasFailed, lastTook }: WriteHealth,
  blip: Millis,
  now: Instant,
): boolean =>
  pendingSince !== undefined && elapsed(pendingSince, now) > (hasFailed ? blip : Math.max(blip, 2 * lastTook));
