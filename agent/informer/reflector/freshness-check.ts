import type { Millis } from "../../base/clock.ts";

/**
 * Length of the first watch and of the longest one, in seconds. Each watch is four times as long as the previous one.
 */
const [firstWatch, longestWatch] = [1, 64];
/** A watch that ends after this much silence proves that no missed event is on its way. */
const silence: Millis = 500;

/**
 * Finds out when the store includes everything that happened before the current run. An open watch is no proof, because
 * missed events may still be on their way. A list is a proof, and so is the first bookmark, because it follows the
 * missed events. An idle resource receives no bookmark, so the check requests short watches: one that the server ends
 * after a silence is a proof too, because missed events would have begun to arrive by then.
 */
export class FreshnessCheck {
  #isDone = false;
  #seconds = firstWatch;

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Called when a new run begins. */
  begin(): void {
    this.#isDone = false;
    this.#seconds = firstWatch;
  }

  /** The length to request for the next watch, in seconds; undefined once the check is done. */
  get seconds(): number | undefined {
    return this.#isDone ? undefined : this.#seconds;
  }

  /** Called when a list was stored, or a bookmark arrived. */
  done(): void {
    this.#isDone = true;
  }

  /** Called when the server ended a watch that had been silent for `silentFor`. */
  ended(silentFor: Millis): void {
    this.#isDone ||= silentFor >= silence;
    this.#seconds = Math.min(4 * this.#seconds, longestWatch);
  }
}
