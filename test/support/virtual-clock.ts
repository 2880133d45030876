import { type Clock, type Instant, type Millis, nextTurn, type Timer } from "../../agent/base/clock.ts";
import { Heap } from "../../agent/loop/heap.ts";

interface Armed {
  readonly due: Millis;
  readonly order: number;
  /** Undefined once it fired or was cancelled. */
  run: (() => void) | undefined;
}

/** More timers at one instant than any story needs: with more, time would never advance. */
const mostAtOnce = 50_000;

const earlier = (a: Armed, b: Armed): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);

/**
 * Time that passes only on request. Timers fire in the order (time, creation), each at exactly its instant, and after each
 * one the event loop runs everything that became runnable, so that a story plays identically every time.
 */
export class VirtualClock implements Clock {
  #mono: Millis;
  #wallAhead: Millis;
  #timers = new Heap<Armed>(earlier);
  #created = 0;
  #idle = 0;
  #advancing = false;
  /** Timers that fired at this very instant. */
  #standing = 0;
  readonly #settle: () => Promise<void>;

  constructor(begin: Instant, settle = someTurns) {
    this.#mono = begin.mono;
    this.#wallAhead = begin.wall - begin.mono;
    this.#settle = settle;
  }

  now(): Instant {
    return { mono: this.#mono, wall: this.#mono + this.#wallAhead };
  }

  after(delay: Millis, run: () => void): Timer {
    if (!Number.isFinite(delay)) throw new Error(`a timer needs a finite delay, not ${delay}`);
    return this.at(this.#mono + delay, run);
  }

  /** Runs the function when the monotonic clock shows this time. */
  at(due: Millis, run: () => void): Timer {
    const armed: Armed = { due: Math.max(due, this.#mono), order: this.#created++, run };
    this.#timers.push(armed);
    return { cancel: () => this.#cancel(armed) };
  }

  /** How many timers are armed: a component that has stopped leaves none behind. */
  get timers(): number {
    return this.#timers.size - this.#idle;
  }

  /** Sets the wall clock, in milliseconds since 1970, as a first time sync does. No measured duration may change. */
  setWallTime(wall: Millis): void {
    this.#wallAhead = wall - this.#mono;
  }

  /** Time passes in which nothing runs, as on a suspended board: timers that are due fire with the next advance. */
  skip(span: Millis): void {
    this.#mono += span;
  }

  /** Lets time pass. Only one caller at a time may do so. */
  advance(span: Millis): Promise<void> {
    return this.advanceTo(this.#mono + span);
  }

  /** Lets time pass until the monotonic clock shows `until`. */
  advanceTo(until: Millis): Promise<void> {
    return this.#pass(until, (due) => due <= until);
  }

  /** The same, but timers due at the very end have not fired yet, so that something else may happen first. */
  approach(span: Millis): Promise<void> {
    const until = this.#mono + span;
    return this.#pass(until, (due) => due < until);
  }

  async #pass(until: Millis, isDue: (due: Millis) => boolean): Promise<void> {
    if (this.#advancing) throw new Error("the clock is being advanced already");
    this.#advancing = true;
    try {
      const take = (): Armed | undefined => {
        const next = this.#peek();
        return next !== undefined && isDue(next.due) ? this.#timers.pop() : undefined;
      };
      await this.settle();
      for (let next = take(); next; next = take()) {
        this.#reach(Math.max(next.due, this.#mono));
        const run = next.run;
        next.run = undefined;
        run?.();
        await this.settle();
      }
      this.#mono = Math.max(until, this.#mono);
    } finally {
      this.#advancing = false;
    }
  }

  /** Advances from timer to timer until the condition is true, for at most `limit`; throws if it never is. */
  async until(holds: () => boolean, limit: Millis): Promise<void> {
    const end = this.#mono + limit;
    await this.settle();
    while (!holds()) {
      const next = this.#peek();
      if (next === undefined || next.due > end) throw new Error(`did not come true within ${limit} ms: ${holds}`);
      await this.advanceTo(next.due);
    }
  }

  /** Runs everything that can run without time passing; by default a few turns of the event loop. */
  settle(): Promise<void> {
    return this.#settle();
  }

  #reach(time: Millis): void {
    this.#standing = time === this.#mono ? this.#standing + 1 : 0;
    if (this.#standing > mostAtOnce) throw new Error(`time does not pass any more at ${time}`);
    this.#mono = time;
  }

  #peek(): Armed | undefined {
    for (let first = this.#timers.peek(); first; first = this.#timers.peek()) {
      if (first.run !== undefined) return first;
      this.#timers.pop();
      this.#idle--;
    }
    return undefined;
  }

  /**
   * A cancelled timer stays in the heap until it is due. If most timers are cancelled, the heap is rebuilt without
   * them.
   */
  #cancel(armed: Armed): void {
    if (armed.run === undefined) return;
    armed.run = undefined;
    this.#idle++;
    if (this.#idle < 1000 || this.#idle < this.#timers.size / 2) return;
    const live = new Heap<Armed>(earlier);
    for (let timer = this.#timers.pop(); timer; timer = this.#timers.pop()) if (timer.run) live.push(timer);
    this.#timers = live;
    this.#idle = 0;
  }
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}
