import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../base/clock.ts";

const look: Millis = 1000;
/** Two looks, and what a busy board adds to them. */
const usual: Millis = 3000;

/**
 * How long what is read now may have lain in this machine. The broker counts a message's time until it is sent; a process
 * that is stopped, or swapped out, reads it much later, and nothing in the message says so.
 */
export class ReadDelay {
  readonly #clock: Clock;
  /** What had come by the look before the last one has been read, whichever of looking and reading came first since. */
  #before: Instant;
  #last: Instant;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = clock.now();
    this.#before = this.#last;
  }

  begin(): void {
    this.#last = this.#clock.now();
    this.#before = this.#last;
    this.#next();
  }

  end(): void {
    this.#timer?.cancel();
  }

  /** At most so long; 0 in a process that runs as it should. */
  get longest(): Millis {
    const longest = elapsed(this.#before, this.#clock.now());
    return longest > usual ? longest : 0;
  }

  #next(): void {
    this.#timer = this.#clock.after(look, () => {
      this.#before = this.#last;
      this.#last = this.#clock.now();
      this.#next();
    });
  }
}
