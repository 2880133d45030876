import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../base/clock.ts";

/**
 * Calls `idle` once after `limit` without activity. Activity starts no timer: it is only noted, and the timer reads the
 * note when it fires.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #limit: Millis;
  readonly #idle: () => void;
  #heard: Instant;
  #timer: Timer | undefined;

  constructor(clock: Clock, limit: Millis, idle: () => void) {
    this.#clock = clock;
    this.#limit = limit;
    this.#idle = idle;
    this.#heard = clock.now();
  }

  get isOver(): boolean {
    return elapsed(this.#heard, this.#clock.now()) >= this.#limit;
  }

  touch(): void {
    this.#heard = this.#clock.now();
  }

  /** Begins to watch from now; no effect if it is watching already. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.touch();
    this.#arm(this.#limit);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(delay: Millis): void {
    this.#timer = this.#clock.after(delay, () => {
      this.#timer = undefined;
      const rest = this.#limit - elapsed(this.#heard, this.#clock.now());
      // A rest below the clock's resolution would re-arm for ever.
      if (rest > 0) this.#arm(Math.max(1, rest));
      else this.#idle();
    });
  }
}
