import { elapsed, type Instant, type Millis } from "../../base/clock.ts";

/** Backoff for replacing failed pods of a board: the cause may be the board itself. */
export interface FailedBackoff {
  /** status.observedGeneration of the set at that time; another generation restarts the backoff. */
  readonly generation: number;
  readonly delay: Millis;
  readonly at: Instant;
}

/** By board. */
export type FailedBackoffs = ReadonlyMap<string, FailedBackoff>;

const first: Millis = 1000;
const most: Millis = 900_000;

/** The backoff starts over after this time without a failure. */
const forgottenAfter: Millis = 2 * most;

/** How long a failed pod stays; 0: it may be deleted. The whole delay, not the remaining part of it. */
export function backoffOf(before: FailedBackoff | undefined, generation: number, now: Instant): Millis {
  const current = valid(before, generation, now);
  return current !== undefined && elapsed(current.at, now) < current.delay ? current.delay : 0;
}

/** The backoff after the deletion of one more failed pod. */
export function nextBackoff(before: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff {
  const current = valid(before, generation, now);
  return { generation, delay: current === undefined ? first : Math.min(most, current.delay * 2), at: now };
}

/** Drops expired backoffs. */
export const stillValid = (backoffs: FailedBackoffs, generation: number, now: Instant): FailedBackoffs =>
  new Map([...backoffs].filter(([, one]) => valid(one, generation, now) !== undefined));

const valid = (one: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff | undefined =>
  one?.generation === generation && elapsed(one.at, now) <= forgottenAfter ? one : undefined;
