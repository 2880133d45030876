import { type Clock, deadline, type Millis } from "../base/clock.ts";
import { type LeaseTiming, trustedFor, writtenSeconds } from "../base/lease-timing.ts";
import { formatDuration } from "../base/time/duration.ts";
import { TransportError } from "../client/transport/transport-error.ts";

/** How long one request may take. A hanging request must not use up the whole renew deadline. */
export const maxRequestDuration = ({ renewDeadline }: LeaseTiming): Millis => Math.max(1000, renewDeadline / 2);

/**
 * How long a claim may wait for its answer: a late answer still wins a term if the term then lasts for at least another
 * `retry`. Even without an answer, the claim may have been written, and then keeps the other boards from leading.
 */
export const maxClaimDuration = (timing: LeaseTiming): Millis => {
  const { duration, renewDeadline, retry } = timing;
  return Math.max(maxRequestDuration(timing), Math.min(renewDeadline, trustedFor(writtenSeconds(duration))) - retry);
};

/** A signal that aborts with `parent`, or with a TransportError after `limit`. */
export const withTimeout = (clock: Clock, limit: Millis, parent: AbortSignal) =>
  deadline(clock, limit, parent, () => new TransportError("Timeout", `no response within ${formatDuration(limit)}`));
