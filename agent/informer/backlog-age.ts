import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/**
 * The age of a backlog that is handled in order of arrival, in constant memory. It is a lower bound: at least one
 * change that was pending when `#since` was set is still pending.
 */
export class BacklogAge {
  #since: Instant | undefined;
  /** Number of changes that were pending at `#since` and have not been handled yet. */
  #left = 0;

  /** Call after changes were added; `depth` are now pending. */
  added(depth: number, now: Instant): void {
    if (this.#since === undefined && depth > 0) this.#begin(depth, now);
  }

  /** Call after the oldest `count` changes were handled; `depth` are left. */
  handled(count: number, depth: number, now: Instant): void {
    this.#left -= count;
    if (depth === 0) this.#since = undefined;
    else if (this.#left <= 0) this.#begin(depth, now);
  }

  /** The earliest time since which changes are known to have been pending; undefined if none are pending. */
  get since(): Instant | undefined {
    return this.#since;
  }

  /** The age at an instant; undefined if nothing is pending. */
  at(now: Instant): Millis | undefined {
    return this.#since && elapsed(this.#since, now);
  }

  #begin(depth: number, now: Instant): void {
    this.#since = now;
    this.#left = depth;
  }
}
