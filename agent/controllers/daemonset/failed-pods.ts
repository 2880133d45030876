import { elapsed, type Instant, type Millis } from "../../base/clock.ts";

/** How fast failed pods of a board are replaced: what makes them fail may be the board. */
export interface FailedBackoff {
  /** The status.observedGeneration of the set then: with another one the count begins anew. */
  readonly generation: number;
  readonly delay: Millis;
  readonly at: Instant;
}

/** By board. */
export type FailedBackoffs = ReadonlyMap<string, FailedBackoff>;

const first: Millis = 1000;
const most: Millis = 900_000;

/** After this without a failure all is well again. */
const forgottenAfter: Millis = 2 * most;

/** How long a failed pod stays for now; 0: it may go. The whole delay, not what is left of it (5.5). */
export function backoffOf(before: FailedBackoff | undefined, generation: number, now: Instant): Millis {
  const current = valid(before, generation, now);
  return current !== undefined && elapsed(current.at, now) < current.delay ? current.delay : 0;
}

/** A failed pod goes. */
export function nextBackoff(before: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff {
  const current = valid(before, generation, now);
  return { generation, delay: current === undefined ? first : Math.min(most, current.delay * 2), at: now };
}

/** Without those that no longer say anything. */
export const stillValid = (backoffs: FailedBackoffs, generation: number, now: Instant): FailedBackoffs =>
  new Map([...backoffs].filter(([, one]) => valid(one, generation, now) !== undefined));

const valid = (one: FailedBackoff | undefined, generation: number, now: Instant): FailedBackoff | undefined =>
  one?.generation === generation && elapsed(one.at, now) <= forgottenAfter ? one : undefined;
