import type { Clock, Instant, Millis, Timer } from "../../../../agent/base/clock.ts";

/** The clock as one board's process sees it: its wall clock is its own, and while it is suspended its timers do not run. */
export class BoardClock implements Clock {
  wallAhead: Millis;
  readonly #clock: Clock;
  #suspended = false;
  #dead = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock, wallAhead: Millis) {
    this.#clock = clock;
    this.wallAhead = wallAhead;
  }

  now(): Instant {
    const { mono, wall } = this.#clock.now();
    return { mono, wall: wall + this.wallAhead };
  }

  after(delay: Millis, run: () => void): Timer {
    let cancelled = false;
    const fire = (): void => {
      if (cancelled || this.#dead) return;
      if (this.#suspended) this.#held.push(fire);
      else run();
    };
    const timer = this.#clock.after(delay, fire);
    return {
      cancel: () => {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  suspend(): void {
    this.#suspended = true;
  }

  /** What became due meanwhile runs now, in its order. */
  resume(): void {
    this.#suspended = false;
    for (const fire of this.#held.splice(0)) this.#clock.after(0, fire);
  }

  /** The process is gone: its timers never run. */
  die(): void {
    this.#dead = true;
  }
}
