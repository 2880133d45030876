import type { Millis } from "./clock.ts";
import { exactDuration } from "./exact-duration.ts";

export interface LeaseTiming {
  /** How long followers wait for a silent leader; written into the Lease. */
  readonly duration: Millis;
  /** A leader that could not renew for this long gives up. */
  readonly renewDeadline: Millis;
  /** The pause between two renewals, and about that between two attempts to lead. */
  readonly retry: Millis;
}

export interface TimingProblem {
  /** The setting that is most likely wrong. */
  readonly setting: keyof LeaseTiming;
  /** The settings it conflicts with. */
  readonly against: readonly (keyof LeaseTiming)[];
  /** Follows the setting's name. */
  readonly message: string;
}

/** Pauses of waiting followers are stretched by up to this factor, so that they do not all come at once. */
export const jitterFactor = 1.2;

/** No holder is trusted to hold for longer, whatever it wrote. */
export const longestLease: Millis = 3_600_000;

/** A Lease counts whole seconds. */
export const writtenSeconds = (duration: Millis): number => Math.floor(duration / 1000);

/**
 * In milliseconds: how long a leader trusts a term, from the start of the attempt that won or renewed it; less than
 * followers wait.
 */
export const trust = (seconds: number): Millis => seconds * 1000 - Math.max(seconds * 100, 2000);

/** All problems of a timing. */
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
      message: "must be longer than nothing",
    });
  }
  if (found.length > 0) return found;

  demand(duration > renewDeadline, {
    setting: "renewDeadline",
    against: ["duration"],
    message: `${exactDuration(renewDeadline)} must be shorter than leader.duration (${exactDuration(duration)})`,
  });
  // A retry may be this much later than requested, and must still fit into the deadline.
  demand(renewDeadline > jitterFactor * retry, {
    setting: "retry",
    against: ["renewDeadline"],
    message:
      `${exactDuration(retry)} must be shorter than leader.renewDeadline ` +
      `(${exactDuration(renewDeadline)}) divided by ${jitterFactor}`,
  });
  demand(duration <= longestLease, {
    setting: "duration",
    against: [],
    message: `${exactDuration(duration)} must not be longer than ${exactDuration(longestLease)}`,
  });
  demand(trust(writtenSeconds(duration)) > retry, {
    setting: "duration",
    against: ["retry"],
    message:
      `${exactDuration(duration)} must be longer than leader.retry (${exactDuration(retry)}) ` +
      "by more than 2s and by more than 10 %, or no term outlives it",
  });
  return found;
}
