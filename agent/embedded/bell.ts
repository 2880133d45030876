import type { Clock, Millis } from "../base/clock.ts";

/** Wakes a loop. A ring while nobody waits is not lost: the next wait ends at once. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  readonly ring = (): void => {
    if (this.#wake) this.#wake();
    else this.#rung = true;
  };

  /** Until it rings, at most for `limit`, or until the signal aborts. */
  wait(clock: Clock, limit: Millis, signal: AbortSignal): Promise<void> {
    if (this.#rung || signal.aborted) {
      this.#rung = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      const timer = clock.after(limit, done);
      signal.addEventListener("abort", done, { once: true });
      this.#wake = done;
    });
  }
}
