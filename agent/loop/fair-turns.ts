import { type Clock, elapsed, type Instant, type Millis, nextTurn } from "../base/clock.ts";
import { type Lane, Lanes } from "../base/lanes.ts";

/** So long others share one turn of the event loop. */
const slice: Millis = 10;

/**
 * Shares the event loop among those with much to do. Within the first 10 ms of a turn everyone goes on; after that all wait
 * in lanes, and each further turn begins with the first of them. Timers and answers of the network have their turn in between.
 *
 * On a clock that stands still during a turn nobody ever waits.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #line = new Lanes();
  /** Of the present turn, since somebody asked in it. */
  #began: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: go on at once. Else wait for it; false: the signal aborted first. */
  take(lane: Lane, signal: AbortSignal): Promise<boolean> | undefined {
    const isOver = this.#isOver();
    if (this.#line.size === 0 && !isOver) return undefined;
    const turn = this.#line.wait(lane, signal);
    if (!isOver) this.#line.next();
    return turn;
  }

  /** Takes all steps, in as many turns as they need: a promise only where one is not enough. Rejects when the signal aborts first. */
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

  /** To the end, or to where others have their turn. */
  #goOn<T>(
    steps: Iterator<undefined, T>,
    lane: Lane,
    signal: AbortSignal,
  ): { readonly value: T } | { readonly turn: Promise<boolean> } {
    for (;;) {
      const step = steps.next();
      if (step.done) return { value: step.value };
      // Steps are small: one for each pass of the others would take minutes.
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
