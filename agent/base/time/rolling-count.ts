import type { Instant, Millis } from "../clock.ts";

const parts = 12;

/** The number of events in a sliding window, exact to a twelfth of it, in constant memory. */
export class RollingCount {
  readonly #width: Millis;
  readonly #counts = new Array<number>(parts + 1).fill(0);
  #newest = Number.NEGATIVE_INFINITY;

  constructor(window: Millis = 3_600_000) {
    this.#width = window / parts;
  }

  add(now: Instant): void {
    const slot = this.#turn(now);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
  }

  total(now: Instant): number {
    this.#turn(now);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Clears the counts that have left the window. Returns the index of the current count. */
  #turn(now: Instant): number {
    const part = Math.floor(now.mono / this.#width);
    const passed = Math.min(part - this.#newest, this.#counts.length);
    for (let back = 0; back < passed; back++) this.#counts[this.#place(part - back)] = 0;
    this.#newest = Math.max(part, this.#newest);
    return this.#place(this.#newest);
  }

  #place(part: number): number {
    return ((part % this.#counts.length) + this.#counts.length) % this.#counts.length;
  }
}
