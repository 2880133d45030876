import { type Instant, type Millis, shifted } from "./clock.ts";
import { exactDuration } from "./time/exact-duration.ts";

export interface LeaseTiming {
  /** How long followers wait after the last renewal before they try to take over; written into the Lease. */
  readonly duration: Millis;
  /** A leader steps down if it has been unable to renew its Lease for this long. */
  readonly renewDeadline: Millis;
  /** The pause between two renewals. Followers wait up to `jitterFactor` times as long between two attempts to lead. */
  readonly retry: Millis;
}

export interface TimingProblem {
  /** The setting that is most likely wrong. */
  readonly setting: keyof LeaseTiming;
  /** The settings that it conflicts with; empty if it is invalid by itself. */
  readonly against: readonly (keyof LeaseTiming)[];
  /** A predicate, to be printed after the setting's name: "40s must be shorter than …". */
  readonly message: string;
}

/**
 * Followers stretch their pauses by a random factor up to this one, so that they do not all send requests at the same
 * time.
 */
export const jitterFactor = 1.2;

/** A Lease counts as expired after this time without a renewal, even if its holder wrote a longer duration. */
export const maxLeaseDuration: Millis = 3_600_000;

/** The duration in whole seconds, as written into a Lease. */
export const writtenSeconds = (duration: Millis): number => Math.floor(duration / 1000);

/**
 * How long a leader may act after the start of its last successful renewal, if the Lease's duration is `seconds`.
 * Shorter than that duration by a margin, so that the leader stops before a follower takes over.
 */
export const trustedFor = (seconds: number): Millis => seconds * 1000 - Math.max(seconds * 100, 2000);

/**
 * The instant until which the leader may rely on its Lease. Counted from the start of the renewal, before any board can
 * have seen it.
 */
export const trustedUntil = (attempt: Instant, duration: Millis): Instant =>
  shifted(attempt, trustedFor(writtenSeconds(duration)));

/** All problems of a timing; empty if it is valid. */
export function timingProblems(timing: LeaseTiming): readonly TimingProblem[] {
  const { duration, renewDeadline, retry } = timing;
  const found: TimingProblem[] = [];
  const demand = (holds: boolean, problem: TimingProblem): void => {
    if (!holds) found.push(problem);
  };
  for (const setting of ["duration", "renewDeadline", "retry"] as const) {
    demand(timing[setting] > 0 && Number.isFinite(timing[setting]), {
      setting,
      against: [],
      message: "must be longer than 0",
    });
  }
  if (found.length > 0) return found;

  demand(duration > renewDeadline, {
    setting: "renewDeadline",
    against: ["duration"],
    message: `${exactDuration(renewDeadline)} must be shorter than leader.duration (${exactDuration(duration)})`,
  });
  // With jitter, the pause is up to `jitterFactor` times as long, and a second attempt must still begin before the
  // deadline.
  demand(renewDeadline > jitterFactor * retry, {
    setting: "retry",
    against: ["renewDeadline"],
    message:
      `${exactDuration(retry)} must be shorter than leader.renewDeadline ` +
      `(${exactDuration(renewDeadline)}) divided by ${jitterFactor}`,
  });
  demand(duration <= maxLeaseDuration, {
    setting: "duration",
    against: [],
    message: `${exactDuration(duration)} must not be longer than ${exactDuration(maxLeaseDuration)}`,
  });
  demand(trustedFor(writtenSeconds(duration)) > retry, {
    setting: "duration",
    against: ["retry"],
    message:
      `${exactDuration(duration)} must be longer than leader.retry (${exactDuration(retry)}) ` +
      "by more than 2s and by more than 10 %, or each term ends before its first renewal",
  });
  return found;
}
