import type { Clock, Millis } from "../clock.ts";

/**
 * Wakes the one loop that waits on it. A `ring` while the loop is busy is not lost: the loop's next `wait` ends
 * immediately.
 */
export class WakeSignal {
  readonly #clock: Clock;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Waits until `ring` is called, the signal aborts or `delay`, if given, has passed. */
  async wait(signal: AbortSignal, delay?: Millis): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          timer?.cancel();
          signal.removeEventListener("abort", wake);
          resolve();
        };
        const timer = delay === undefined ? undefined : this.#clock.after(delay, wake);
        signal.addEventListener("abort", wake, { once: true });
        this.#wake = wake;
      });
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}
