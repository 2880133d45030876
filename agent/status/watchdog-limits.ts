import type { Millis } from "../base/clock.ts";

/** The times that determine how long a loop may be without progress. */
export interface Patience {
  /** The longest time limit of a request. */
  readonly longestRequest: Millis;
  /** How long a leader tries to renew its Lease before its controllers end. */
  readonly renewDeadline: Millis;
}

/**
 * The longest time that a loop may be without progress. The limits exist to find promises that never settle. They are
 * generous, because slow requests and outages end by themselves, and a restart would cost a leader its term.
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
