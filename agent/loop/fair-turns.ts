import { type Clock, elapsed, type Instant, type Millis, nextTurn } from "../base/clock.ts";
import { type Lane, Lanes } from "../base/concurrency/lanes.ts";

/** How long all callers together may use one turn of the event loop. */
const slice: Millis = 10;

/**
 * Shares the event loop among long computations. Within the first 10 ms of a turn, every caller continues; after that,
 * all callers wait in lanes, and each new turn begins with the first of them. Timers and I/O run between the turns.
 *
 * On a clock that does not advance during a turn, such as a fake clock, no caller ever waits.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #waiting = new Lanes();
  /** When the first call of the current turn was made; undefined if none was. */
  #began: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns undefined if the caller may continue immediately. Otherwise the caller awaits the promise, which resolves
   * to false if the signal aborts first.
   */
  take(lane: Lane, signal: AbortSignal): Promise<boolean> | undefined {
    const isOver = this.#isOver();
    if (this.#waiting.size === 0 && !isOver) return undefined;
    const turn = this.#waiting.wait(lane, signal);
    if (!isOver) this.#waiting.next();
    return turn;
  }

  /**
   * Runs all steps, in as many turns as they need. Returns a promise only if more than one turn is needed; it rejects
   * if the signal aborts first.
   */
  run<T>(steps: Iterator<undefined, T>, lane: Lane, signal: AbortSignal): T | Promise<T> {
    const step = this.#continue(steps, lane, signal);
    return "value" in step ? step.value : this.#rest(step.turn, steps, lane, signal);
  }

  async #rest<T>(first: Promise<boolean>, steps: Iterator<undefined, T>, lane: Lane, signal: AbortSignal): Promise<T> {
    for (let turn = first; ; ) {
      if (!(await turn)) {
        steps.return?.();
        throw signal.reason;
      }
      const step = this.#continue(steps, lane, signal);
      if ("value" in step) return step.value;
      turn = step.turn;
    }
  }

  /** Runs steps to the end, or until the caller must wait for a turn. */
  #continue<T>(
    steps: Iterator<undefined, T>,
    lane: Lane,
    signal: AbortSignal,
  ): { readonly value: T } | { readonly turn: Promise<boolean> } {
    for (;;) {
      const step = steps.next();
      if (step.done) return { value: step.value };
      // Steps are small, so waiting for a turn of the event loop before each would take minutes.
      const turn = this.#isOver() ? this.take(lane, signal) : undefined;
      if (turn) return { turn };
    }
  }

  #isOver(): boolean {
    const now = this.#clock.now();
    if (this.#began === undefined) this.#begin(now);
    return this.#began !== undefined && elapsed(this.#began, now) >= slice;
  }

  #begin(now: Instant): void {
    this.#began = now;
    void nextTurn().then(() => {
      this.#began = undefined;
      if (this.#waiting.size === 0) return;
      this.#begin(this.#clock.now());
      this.#waiting.next();
    });
  }
}
