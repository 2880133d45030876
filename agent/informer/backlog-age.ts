import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * Age of a backlog that is handled in the order of its arrival, in constant memory. The oldest change has waited at least
 * this long: what was pending when the age began has not all been handled since.
 */
export class BacklogAge {
  #since: Instant | undefined;
  /** Of what was pending at `#since`: not handled yet. */
  #left = 0;

  /** Changes were added. `depth`: number pending now. */
  added(depth: number, now: Instant): void {
    if (this.#since === undefined && depth > 0) this.#begin(depth, now);
  }

  /** The oldest `count` changes were handled, and `depth` are left. */
  handled(count: number, depth: number, now: Instant): void {
    this.#left -= count;
    if (depth === 0) this.#since = undefined;
    else if (this.#left <= 0) this.#begin(depth, now);
  }

  /** Undefined if nothing is pending. */
  at(now: Instant): Millis | undefined {
    return this.#since && elapsed(this.#since, now);
  }

  #begin(depth: number, now: Instant): void {
    this.#since = now;
    this.#left = depth;
  }
}
