import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** What was sent last, and when. */
export interface Sent {
  readonly text: string;
  readonly at: Instant;
}

export interface GateLimits {
  /** Changes come at most this often. */
  readonly gap: Millis;
  /** What has not changed comes at least this often. */
  readonly heartbeat: Millis;
}

/** Whether a document goes out now: the first, a change, or a sign of life. */
export function isDue(last: Sent | undefined, text: string, now: Instant, { gap, heartbeat }: GateLimits): boolean {
  if (last === undefined) return true;
  const since = elapsed(last.at, now);
  return since >= heartbeat || (text !== last.text && since >= gap);
}
