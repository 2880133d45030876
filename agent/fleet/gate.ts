import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** The last document sent, and when. */
export interface Sent {
  readonly text: string;
  readonly at: Instant;
}

export interface GateLimits {
  /** Minimum interval between changes. */
  readonly gap: Millis;
  /** Maximum interval between unchanged documents. */
  readonly heartbeat: Millis;
}

/** Whether to send a document now: the first one, a change, or a heartbeat. */
export function isDue(last: Sent | undefined, text: string, now: Instant, { gap, heartbeat }: GateLimits): boolean {
  if (last === undefined) return true;
  const since = elapsed(last.at, now);
  return since >= heartbeat || (text !== last.text && since >= gap);
}
