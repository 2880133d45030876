import { type Clock, deadline, type Millis } from "../base/clock.ts";
import type { LeaseTiming } from "../base/lease-timing.ts";
import { formatDuration } from "../base/time/duration.ts";
import { TransportError } from "../client/transport/transport-error.ts";

/** How long one request may take: a hanging request must not use up the whole renew deadline. */
export const longestRequest = ({ renewDeadline }: LeaseTiming): Millis => Math.max(1000, renewDeadline / 2);

/** A signal that aborts with `parent`, or with a TransportError after `limit`. */
export const withTimeout = (clock: Clock, limit: Millis, parent: AbortSignal) =>
  deadline(clock, limit, parent, () => new TransportError("Timeout", `no answer within ${formatDuration(limit)}`));
