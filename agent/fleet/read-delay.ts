import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../base/clock.ts";

const look: Millis = 1000;
/** Two ticks, plus the usual delay of a busy board. */
const usual: Millis = 3000;

/**
 * Upper bound on how long received data may have waited in this machine. The broker counts a message's expiry until it
 * sends; a stopped or swapped-out process reads much later, and the message does not show it.
 */
export class ReadDelay {
  readonly #clock: Clock;
  /** All data that arrived before this tick has been read, in whatever order timer and socket ran since. */
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

  /** The bound in milliseconds; 0 in a process that is not delayed. */
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
