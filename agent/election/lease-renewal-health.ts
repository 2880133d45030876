import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * Whether boards can renew their Leases, as far as the leader's renewals of its own Lease show. While the API server
 * refuses writes or does not answer them, no heartbeat arrives, although watches may stay open and reads may succeed,
 * so silence during that time says nothing about a board.
 */
export interface LeaseRenewalHealth {
  /** When the last successful renewal was begun; undefined if there was none. */
  readonly writtenAt: Instant | undefined;
  /** When the first of the renewals that have not succeeded was begun; undefined if the last one succeeded. */
  readonly pendingSince: Instant | undefined;
  /** Number of renewals that failed since `pendingSince`. If 0, the response may just be slow. */
  readonly failures: number;
  /** How long the last successful renewal took. */
  readonly lastTook: Millis;
  /** When writes last succeeded again after an interruption longer than a blip; undefined if that has not happened. */
  readonly restoredAt: Instant | undefined;
}

/** The health of a board that does not lead, and so neither renews the Lease nor judges boards. */
export const neverWritten: LeaseRenewalHealth = {
  writtenAt: undefined,
  pendingSince: undefined,
  failures: 0,
  lastTook: 0,
  restoredAt: undefined,
};

/** The health after the claim with which a term begins. */
export const firstWrite = (began: Instant, now: Instant): LeaseRenewalHealth => ({
  ...neverWritten,
  writtenAt: began,
  lastTook: elapsed(began, now),
});

export const recordAttempt = (health: LeaseRenewalHealth, at: Instant): LeaseRenewalHealth => ({
  ...health,
  pendingSince: health.pendingSince ?? at,
});

export const recordFailure = (health: LeaseRenewalHealth): LeaseRenewalHealth => ({
  ...health,
  failures: health.failures + 1,
});

/** The health after a renewal that was begun at `began` succeeded. */
export const recordSuccess = (
  health: LeaseRenewalHealth,
  began: Instant,
  blip: Millis,
  now: Instant,
): LeaseRenewalHealth => ({
  ...firstWrite(began, now),
  restoredAt: isInterrupted(health, blip, now) ? now : health.restoredAt,
});

/**
 * Whether writes have been interrupted for longer than a blip. A pending renewal counts only once it takes much longer
 * than the last one, because answers may be slow on a slow link.
 */
export const isInterrupted = (health: LeaseRenewalHealth, blip: Millis, now: Instant): boolean => {
  const since = interruptedSince(health);
  return (
    since !== undefined && elapsed(since, now) > (health.failures > 0 ? blip : Math.max(blip, 2 * health.lastTook))
  );
};

/**
 * Since when writes may have been interrupted; undefined if the last renewal succeeded. One failed renewal may be a
 * lost request. After two in a row, the interruption may have begun right after the last success: if the interval
 * between renewals is as long as a blip, an outage of nearly twice that length would otherwise pass for a blip.
 */
export const interruptedSince = ({ writtenAt, pendingSince, failures }: LeaseRenewalHealth): Instant | undefined =>
  pendingSince && failures > 1 ? (writtenAt ?? pendingSince) : pendingSince;
