import { type Clock, type Instant, type Millis, nextTurn, type Timer } from "../../agent/base/clock.ts";
import { Heap } from "../../agent/base/heap.ts";

interface Armed {
  readonly due: Millis;
  readonly order: number;
  /** Undefined once it fired or was cancelled. */
  run: (() => void) | undefined;
}

const earlier = (a: Armed, b: Armed): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);

/**
 * Time that passes only when told to. Timers fire in the order (time, creation), each at exactly its instant, and after
 * each one the event loop settles what became runnable: the same story runs the same way every time.
 */
export class VirtualClock implements Clock {
  #mono: Millis;
  #wallAhead: Millis;
  #timers = new Heap<Armed>(earlier);
  #created = 0;
  #idle = 0;
  #advancing = false;

  constructor(begin: Instant) {
    this.#mono = begin.mono;
    this.#wallAhead = begin.wall - begin.mono;
  }

  now(): Instant {
    return { mono: this.#mono, wall: this.#mono + this.#wallAhead };
  }

  after(delay: Millis, run: () => void): Timer {
    if (!Number.isFinite(delay)) throw new Error(`a timer needs a finite delay, not ${delay}`);
    const armed: Armed = { due: this.#mono + Math.max(0, delay), order: this.#created++, run };
    this.#timers.push(armed);
    return { cancel: () => this.#cancel(armed) };
  }

  /** How many timers are armed: a part that stopped leaves none behind. */
  get timers(): number {
    return this.#timers.size - this.#idle;
  }

  /** The wall clock is set, as by a first time sync: milliseconds since 1970. Nothing that is measured may change. */
  setWallTime(wall: Millis): void {
    this.#wallAhead = wall - this.#mono;
  }

  /** Lets the time pass. One at a time: time has one owner. */
  advance(span: Millis): Promise<void> {
    return this.#pass(span, (due, until) => due <= until);
  }

  /** The same, but what is due at the very end of it has not happened yet: something else may come first. */
  approach(span: Millis): Promise<void> {
    return this.#pass(span, (due, until) => due < until);
  }

  async #pass(span: Millis, isDue: (due: Millis, until: Millis) => boolean): Promise<void> {
    if (this.#advancing) throw new Error("the clock is being advanced already");
    this.#advancing = true;
    try {
      const until = this.#mono + span;
      const take = (): Armed | undefined => {
        const next = this.#peek();
        return next !== undefined && isDue(next.due, until) ? this.#timers.pop() : undefined;
      };
      await this.settle();
      for (let next = take(); next; next = take()) {
        this.#mono = Math.max(this.#mono, next.due);
        const run = next.run;
        next.run = undefined;
        run?.();
        await this.settle();
      }
      this.#mono = until;
    } finally {
      this.#advancing = false;
    }
  }

  /** Advances from timer to timer until `true`, at most for `limit`; throws when it never came true. */
  async until(holds: () => boolean, limit: Millis): Promise<void> {
    const end = this.#mono + limit;
    await this.settle();
    while (!holds()) {
      const next = this.#peek();
      if (next === undefined || next.due > end) throw new Error(`did not come true within ${limit} ms: ${holds}`);
      await this.advance(Math.max(0, next.due - this.#mono));
    }
  }

  /** Lets everything run that can run without time passing, also what yields to the event loop a few times. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  }

  #peek(): Armed | undefined {
    for (let first = this.#timers.peek(); first; first = this.#timers.peek()) {
      if (first.run !== undefined) return first;
      this.#timers.pop();
      this.#idle--;
    }
    return undefined;
  }

  /** A cancelled timer stays in the heap until it is due; where most are such, the heap is made anew without them. */
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
