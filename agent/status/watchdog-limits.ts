import type { Millis } from "../base/clock.ts";

/** Determines the longest legitimate silence of a loop. */
export interface Patience {
  /** Longest duration of a request. */
  readonly longestRequest: Millis;
  /** How long a leader keeps trying to renew, and its controllers with it. */
  readonly renewDeadline: Millis;
}

/**
 * How long each loop may make no progress. Generous: a slow request or an outage ends by itself, and a restart would
 * cost a term. The limits are meant to find promises that never settle.
 */
export const watchdogLimits =
  ({ longestRequest, renewDeadline }: Patience) =>
  (loop: string): Millis => {
    switch (loop) {
      case "database":
        return 120_000;
      case "election":
        return 120_000 + longestRequest;
      default:
        return 300_000 + 4 * longestRequest + renewDeadline;
    }
  };
