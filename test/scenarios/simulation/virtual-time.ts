import type { Millis } from "../../../agent/base/clock.ts";
import { Heap } from "../../../agent/base/heap.ts";

export interface Alarm {
  cancel(): void;
}

const mostAtOnce = 50_000;

/** Node empties the queue of promises before it looks at this one. A turn of the event loop would cost ten times as much. */
const drained = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

interface Due {
  readonly at: Millis;
  readonly order: number;
  run: (() => void) | undefined;
}

/**
 * The one time of a simulated world. It stands still while anything can still run, and jumps to the next alarm when
 * nothing can: alarms go off in the order (time, creation), and each one's consequences come to their end before the next.
 */
export class VirtualTime {
  readonly #alarms = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #turn = globalThis.setImmediate;
  #now: Millis = 0;
  #made = 0;
  /** Alarms that went off at this very moment. */
  #standing = 0;
  /** Turns of the event loop that somebody waits for. */
  #turns = 0;
  #settled = 0;

  /** Counts who asks for a turn of the event loop, so that "nothing can run" is known and not guessed. One at a time. */
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
    return this.#now;
  }

  at(time: Millis, run: () => void): Alarm {
    const due: Due = { at: Math.max(time, this.#now), order: this.#made++, run };
    this.#alarms.push(due);
    return {
      cancel: () => {
        due.run = undefined;
      },
    };
  }

  async runUntil(end: Millis): Promise<void> {
    await this.settle();
    for (let next = this.#alarms.peek(); next !== undefined && next.at <= end; next = this.#alarms.peek()) {
      this.#alarms.pop();
      if (next.run === undefined) continue;
      this.#pass(next.at);
      next.run();
      await this.settle();
    }
    this.#now = end;
    await this.#turned();
  }

  /** Something that comes back at once, for ever, would else be told by an exhausted memory. */
  #pass(time: Millis): void {
    this.#standing = time === this.#now ? this.#standing + 1 : 0;
    if (this.#standing > mostAtOnce) throw new Error(`time does not pass any more at ${time}`);
    this.#now = time;
  }

  /** Until nothing can run any more without time passing: promises first, then who waits for a turn of the event loop. */
  async settle(): Promise<void> {
    // What nobody caught is told between two turns, and what was collected is cleaned up: one is due now and then.
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
