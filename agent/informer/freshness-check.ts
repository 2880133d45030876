import type { Millis } from "../base/clock.ts";

/** Seconds that the first watch from a stored position lasts; each further one four times as long, up to the last. */
const [firstWatch, longestWatch] = [1, 64];
/** With so much silence a watch has to end to say that nothing is on its way. */
const silence: Millis = 500;

/**
 * Whether what is stored is no older than the present run. An open watch does not say so: what happened meanwhile is
 * still on its way then. A list says it, or the first bookmark, which comes behind all that. Where nothing happens there
 * is no bookmark: then a short watch that ends in order after a silence; of what its end cut off, a part would have come
 * right before.
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

  /** How long the next watch lasts at most; undefined: as long as any. */
  get seconds(): number | undefined {
    return this.#isDone ? undefined : this.#seconds;
  }

  /** A list was taken in, or a bookmark came. */
  done(): void {
    this.#isDone = true;
  }

  /** A watch ended in order, after so much silence. */
  ended(silent: Millis): void {
    this.#isDone ||= silent >= silence;
    this.#seconds = Math.min(4 * this.#seconds, longestWatch);
  }
}
