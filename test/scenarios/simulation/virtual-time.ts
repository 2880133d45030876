import type { Millis, Timer } from "../../../agent/base/clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** Runs after Node has emptied the queue of promises. A turn of the event loop would cost ten times as much. */
const drained = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/**
 * The time of a simulated world. It stops while anything can run, and jumps to the next alarm when nothing can: all
 * consequences of an alarm complete before the next one.
 */
export class VirtualTime {
  readonly #clock = new VirtualClock({ mono: 0, wall: 0 }, () => this.settle());
  readonly #turn = globalThis.setImmediate;
  /** Turns of the event loop that are awaited. */
  #turns = 0;
  #settled = 0;

  /** Counts awaited turns of the event loop, so that "nothing can run" is known rather than guessed. One at a time. */
  constructor() {
    const turn = this.#turn;
    const counting = <Values extends unknown[]>(run: (...values: Values) => void, ...values: Values) => {
      this.#turns++;
      return turn(() => {
        this.#turns--;
        run(...values);
      });
    };
    globalThis.setImmediate = Object.assign(counting, { __promisify__: turn.__promisify__ });
  }

  get now(): Millis {
    return this.#clock.now().mono;
  }

  at(time: Millis, run: () => void): Timer {
    return this.#clock.at(time, run);
  }

  async runUntil(end: Millis): Promise<void> {
    await this.#clock.advanceTo(end);
    await this.#turned();
  }

  /** Waits until nothing can run without time passing: promises first, then awaited turns of the event loop. */
  async settle(): Promise<void> {
    // Uncaught rejections and collected objects are handled between two turns of the event loop, so one is needed now
    // and then.
    if (++this.#settled % 100 === 0) await this.#turned();
    await drained();
    while (this.#turns > 0) await this.#turned();
  }

  #turned(): Promise<void> {
    return new Promise((resolve) => this.#turn(resolve));
  }

  dispose(): void {
    globalThis.setImmediate = this.#turn;
  }
}
