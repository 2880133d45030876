import { type Clock, elapsed, type Instant, type Millis, nextTurn } from "../base/clock.ts";
import { type Lane, Lanes } from "../base/lanes.ts";

/** How long callers share one turn of the event loop. */
const slice: Millis = 10;

/**
 * Shares the event loop among long computations. Within the first 10 ms of a turn every caller goes on; after that all
 * wait in lanes, and each further turn begins with the first of them. Timers and network answers run in between.
 *
 * On a clock that stands still during a turn nobody ever waits.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #line = new Lanes();
  /** Start of the present turn, from the first call in it. */
  #began: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: go on at once. Otherwise wait for the promise; false: the signal aborted first. */
  take(lane: Lane, signal: AbortSignal): Promise<boolean> | undefined {
    const isOver = this.#isOver();
    if (this.#line.size === 0 && !isOver) return undefined;
    const turn = this.#line.wait(lane, signal);
    if (!isOver) this.#line.next();
    return turn;
  }

  /**
   * Runs all steps in as many turns as they need; a promise only if one is not enough. Rejects if the signal aborts
   * first.
   */
  run<T>(steps: Iterator<undefined, T>, lane: Lane, signal: AbortSignal): T | Promise<T> {
    const step = this.#goOn(steps, lane, signal);
    return "value" in step ? step.value : this.#rest(step.turn, steps, lane, signal);
  }

  async #rest<T>(first: Promise<boolean>, steps: Iterator<undefined, T>, lane: Lane, signal: AbortSignal): Promise<T> {
    for (let turn = first; ; ) {
      if (!(await turn)) {
        steps.return?.();
        throw signal.reason;
      }
      const step = this.#goOn(steps, lane, signal);
      if ("value" in step) return step.value;
      turn = step.turn;
    }
  }

  /** Runs to the end, or until others have their turn. */
  #goOn<T>(
    steps: Iterator<undefined, T>,
    lane: Lane,
    signal: AbortSignal,
  ): { readonly value: T } | { readonly turn: Promise<boolean> } {
    for (;;) {
      const step = steps.next();
      if (step.done) return { value: step.value };
      // Steps are small: waiting for a turn before each one would take minutes.
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
      if (this.#line.size === 0) return;
      this.#begin(this.#clock.now());
      this.#line.next();
    });
  }
}
