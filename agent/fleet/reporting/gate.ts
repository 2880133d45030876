import { elapsed, type Instant, type Millis } from "../../base/clock.ts";

/** A document as it was last sent, and when. */
export interface SentDocument {
  readonly text: string;
  readonly at: Instant;
}

export interface GateLimits {
  /** A changed document is sent at most this often. */
  readonly minInterval: Millis;
  /** An unchanged document is sent again after this time. */
  readonly heartbeat: Millis;
}

/** Whether to send a document now: the first one, a change, or a heartbeat. */
export function isDue(
  last: SentDocument | undefined,
  text: string,
  now: Instant,
  { minInterval: gap, heartbeat }: GateLimits,
): boolean {
  if (last === undefined) return true;
  const since = elapsed(last.at, now);
  return since >= heartbeat || (text !== last.text && since >= gap);
}
