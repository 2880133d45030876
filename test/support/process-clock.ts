import type { Clock, Instant, Millis, Timer } from "../../agent/base/clock.ts";

/** The clock of one board's process. It has its own wall clock, and its timers do not run while it is suspended. */
export class ProcessClock implements Clock {
  wallAhead: Millis;
  readonly #clock: Clock;
  #suspended = false;
  #dead = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock, wallAhead: Millis = 0) {
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

  /** Timers that became due meanwhile run now, in order. */
  resume(): void {
    this.#suspended = false;
    for (const fire of this.#held.splice(0)) this.#clock.after(0, fire);
  }

  /** The process is gone: its timers never run. */
  die(): void {
    this.#dead = true;
  }
}
