import type { Millis } from "../base/clock.ts";

/** In seconds: the first watch from a stored position, and the maximum. Each further watch is four times as long. */
const [firstWatch, longestWatch] = [1, 64];
/** A watch must end after this much silence to prove that no event is on its way. */
const silence: Millis = 500;

/**
 * Whether the store is no older than the current run. An open watch does not prove that, since missed events may still
 * be on their way. A list proves it, or the first bookmark, which follows those events. An idle resource gets no
 * bookmark; there, a short watch that ends in order after a silence proves it: events cut off by its end would have
 * begun to arrive before.
 */
export class FreshnessCheck {
  #isDone = false;
  #seconds = firstWatch;

  get isDone(): boolean {
    return this.#isDone;
  }

  /** A new run begins. */
  begin(): void {
    this.#isDone = false;
    this.#seconds = firstWatch;
  }

  /** The maximum length of the next watch; undefined if unlimited. */
  get seconds(): number | undefined {
    return this.#isDone ? undefined : this.#seconds;
  }

  /** A list was stored, or a bookmark arrived. */
  done(): void {
    this.#isDone = true;
  }

  /** A watch ended in order, after this much silence. */
  ended(silent: Millis): void {
    this.#isDone ||= silent >= silence;
    this.#seconds = Math.min(4 * this.#seconds, longestWatch);
  }
}
