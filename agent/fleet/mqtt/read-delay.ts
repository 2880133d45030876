import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../../base/clock.ts";

/** Interval of the timer whose delays are measured. */
const tick: Millis = 1000;
/** Shorter delays are ignored: two ticks plus the usual delay on a busy board. */
const usual: Millis = 3000;

/**
 * Measures how long received data may have waited unread on this board. The broker counts a message's expiry only until
 * it sends the message; a suspended or swapped-out process may read it much later.
 */
export class ReadDelay {
  readonly #clock: Clock;
  /** The second-to-last tick; all data that had arrived by then has been read. */
  #before: Instant;
  /** The last tick. */
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

  /** Upper bound of the time that data may have waited; 0 in a process that is not delayed. */
  get longest(): Millis {
    const longest = elapsed(this.#before, this.#clock.now());
    return longest > usual ? longest : 0;
  }

  #next(): void {
    this.#timer = this.#clock.after(tick, () => {
      this.#before = this.#last;
      this.#last = this.#clock.now();
      this.#next();
    });
  }
}
