import type { Clock, Instant, Millis, Timer } from "../../../../agent/base/clock.ts";

/** The clock as one board's process sees it. While the process is suspended time passes, but its timers do not run. */
export class BoardClock implements Clock {
  readonly #clock: Clock;
  #suspended = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Instant {
    return this.#clock.now();
  }

  after(delay: Millis, run: () => void): Timer {
    let cancelled = false;
    const fire = (): void => {
      if (cancelled) return;
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
}
