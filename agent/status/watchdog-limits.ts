import type { Millis } from "../base/clock.ts";

/** What the longest legitimate silence of a loop follows from. */
export interface Patience {
  /** The longest that a request may take. */
  readonly longestRequest: Millis;
  /** How long a leader goes on trying to renew: so long its controllers go on trying, too. */
  readonly renewDeadline: Millis;
}

/**
 * How long each loop may stand still. Generous: what a request or an outage can hold up ends by itself, and a restart would
 * only cost a term. What these find is a promise that nobody keeps.
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
