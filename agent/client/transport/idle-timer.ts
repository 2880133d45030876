import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../../base/clock.ts";

/**
 * Calls `idle` once after `limit` milliseconds without activity. `touch` is cheap: it only stores the time, which the
 * timer compares when it fires.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #limit: Millis;
  readonly #idle: () => void;
  #lastActivity: Instant;
  #timer: Timer | undefined;

  constructor(clock: Clock, limit: Millis, idle: () => void) {
    this.#clock = clock;
    this.#limit = limit;
    this.#idle = idle;
    this.#lastActivity = clock.now();
  }

  /** True if there has been no activity for `limit`. */
  get isOver(): boolean {
    return elapsed(this.#lastActivity, this.#clock.now()) >= this.#limit;
  }

  touch(): void {
    this.#lastActivity = this.#clock.now();
  }

  /** Starts the timer, with now as the last activity. No effect if it is running. */
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
      const rest = this.#limit - elapsed(this.#lastActivity, this.#clock.now());
      // At least 1 ms, because a delay shorter than the clock's resolution would restart the timer in an endless loop.
      if (rest > 0) this.#arm(Math.max(1, rest));
      else this.#idle();
    });
  }
}
