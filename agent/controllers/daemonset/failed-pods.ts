import { elapsed, type Instant, type Millis } from "../../base/clock.ts";

/** Backoff for replacing failed pods of a board, because the cause may be the board itself. */
export interface FailedBackoff {
  /**
   * status.observedGeneration of the set at the last deletion of a failed pod; another generation restarts the backoff.
   */
  readonly generation: number;
  readonly delay: Millis;
  /** When the last failed pod was deleted. */
  readonly at: Instant;
}

/** Backoffs by board. */
export type FailedBackoffs = ReadonlyMap<string, FailedBackoff>;

const first: Millis = 1000;
const maxDelay: Millis = 900_000;

/** The backoff starts over after this time without a failure. */
const resetAfter: Millis = 2 * maxDelay;

/** How long a failed pod is kept: for the whole delay of a running backoff; 0 if the pod may be deleted. */
export function backoffOf(before: FailedBackoff | undefined, generation: number, now: Instant): Millis {
  const current = valid(before, generation, now);
  return current !== undefined && elapsed(current.at, now) < current.delay ? current.delay : 0;
}

/** The backoff after the deletion of one more failed pod. */
export function nextBackoff(before: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff {
  const current = valid(before, generation, now);
  return { generation, delay: current === undefined ? first : Math.min(maxDelay, current.delay * 2), at: now };
}

/** Drops expired backoffs. */
export const stillValid = (backoffs: FailedBackoffs, generation: number, now: Instant): FailedBackoffs =>
  new Map([...backoffs].filter(([, one]) => valid(one, generation, now) !== undefined));

const valid = (one: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff | undefined =>
  one?.generation === generation && elapsed(one.at, now) <= resetAfter ? one : undefined;
