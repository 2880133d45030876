import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../base/clock.ts";
import { Fifo } from "../base/fifo.ts";
import { Heap } from "../base/heap.ts";
import { RetryLimiter, type RetryLimits } from "./retry-limiter.ts";

interface Delayed {
  readonly key: string;
  readonly due: Millis;
  readonly order: number;
}

const sooner = (a: Delayed, b: Delayed): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);

/**
 * Keys that wait for their controller.
 *
 * Promises: a key is never with two workers at once. A key added while it waits is one entry; a key added while it is
 * processed comes once more after `done`. Nothing added is lost before the shutdown. Keys come in the order in which
 * they became ready, the preferred ones first.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #limiter: RetryLimiter;
  readonly #ready = new Fifo<string>();
  /** Keys that go before those in `ready`. A key that was in `ready` before stays there, and is skipped later. */
  readonly #urgent = new Fifo<string>();
  readonly #preferred = new Set<string>();
  /** Keys that need processing, and since when. Each one that is not being processed is in one of the lines. */
  readonly #dirty = new Map<string, Instant>();
  readonly #processing = new Set<string>();
  /** Keys delayed during processing; the worker may have missed the change that caused it. */
  readonly #late = new Set<string>();
  readonly #waiters = new Set<(key: string | undefined) => void>();
  /** The one time at which a delayed key comes back. Heap entries with another time are outdated. */
  readonly #due = new Map<string, Millis>();
  #delayed = new Heap<Delayed>(sooner);
  #order = 0;
  #timer: Timer | undefined;
  #closed = false;

  constructor({ clock }: { readonly clock: Clock }, { retry }: { readonly retry?: RetryLimits } = {}) {
    this.#clock = clock;
    this.#limiter = new RetryLimiter(retry);
  }

  /** Number of keys that are ready to be taken. */
  get size(): number {
    let size = this.#dirty.size;
    for (const key of this.#processing) if (this.#dirty.has(key)) size--;
    return size;
  }

  /** Number of keys that come back later by themselves. */
  get delayed(): number {
    return this.#due.size;
  }

  /** How long the first key in line has been waiting. */
  oldestWait(now: Instant): Millis | undefined {
    const first = this.#line()?.peek();
    const since = first === undefined ? undefined : this.#dirty.get(first);
    return since && elapsed(since, now);
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    if (!this.#processing.has(key)) this.#enter(key);
  }

  /** Puts the key before all others until it is forgotten: its result is waited for. */
  prefer(key: string): void {
    if (this.#closed || this.#preferred.has(key)) return;
    this.#preferred.add(key);
    if (this.#isWaiting(key)) this.#enter(key);
  }

  /** Enqueues the key after the delay. If it is delayed already, the earlier time wins. */
  addAfter(key: string, delay: Millis): void {
    if (this.#closed) return;
    if (!(delay > 0)) {
      this.add(key);
      return;
    }
    if (this.#processing.has(key)) this.#late.add(key);
    const due = this.#clock.now().mono + delay;
    if (due >= (this.#due.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#due.set(key, due);
    this.#delayed.push({ key, due, order: this.#order++ });
    if (this.#delayed.size > 2 * this.#due.size + 64) this.#dropOutdated();
    if (this.#delayed.peek()?.due === due) this.#arm();
  }

  /** Adds the key again when its backoff permits, but not before `least` is over. */
  retry(key: string, least: Millis = 0): void {
    if (this.#closed) return;
    this.addAfter(key, Math.max(least, this.#limiter.delay(key, this.#clock.now())));
  }

  /** Cancels the key's delay, unless it was delayed since it was taken. */
  undelay(key: string): void {
    if (!this.#late.has(key)) this.#due.delete(key);
  }

  /** Resets the key's failures and preference. Does not take it out of the queue. */
  forget(key: string): void {
    this.#preferred.delete(key);
    this.#limiter.forget(key);
  }

  failures(key: string): number {
    return this.#limiter.failures(key);
  }

  /** The next key; return it with `done`. Undefined: the signal aborted, or the queue is shut down and empty. */
  take(signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    if (this.#line() !== undefined || this.#closed) return Promise.resolve(this.#next());
    return new Promise((resolve) => {
      const leave = (): void => answer(undefined);
      const answer = (key: string | undefined): void => {
        this.#waiters.delete(answer);
        signal.removeEventListener("abort", leave);
        resolve(key);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiters.add(answer);
    });
  }

  done(key: string): void {
    this.#late.delete(key);
    if (this.#processing.delete(key) && this.#dirty.has(key)) this.#enter(key);
  }

  /** Takes no new keys, drops the delayed ones, hands out the ready ones and then `undefined`. */
  shutDown(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#due.clear();
    this.#delayed = new Heap(sooner);
    for (const answer of [...this.#waiters]) answer(undefined);
  }

  #next(): string | undefined {
    const key = this.#line()?.shift();
    if (key === undefined) return undefined;
    this.#dirty.delete(key);
    this.#processing.add(key);
    return key;
  }

  #enter(key: string): void {
    (this.#preferred.has(key) ? this.#urgent : this.#ready).push(key);
    this.#handOut();
  }

  #isWaiting(key: string): boolean {
    return this.#dirty.has(key) && !this.#processing.has(key);
  }

  /** The line that holds the next key; undefined: both are empty. */
  #line(): Fifo<string> | undefined {
    for (const line of [this.#urgent, this.#ready]) {
      for (let key = line.peek(); key !== undefined; key = line.peek()) {
        if (this.#isWaiting(key)) return line;
        line.shift();
      }
    }
    return undefined;
  }

  #handOut(): void {
    for (const answer of this.#waiters) {
      if (this.#line() === undefined) return;
      answer(this.#next());
    }
  }

  #arm(): void {
    this.#timer?.cancel();
    const first = this.#delayed.peek();
    this.#timer = first && this.#clock.after(first.due - this.#clock.now().mono, () => this.#ripen());
  }

  #ripen(): void {
    const now = this.#clock.now().mono;
    for (let first = this.#delayed.peek(); first && first.due <= now; first = this.#delayed.peek()) {
      this.#delayed.pop();
      if (this.#due.get(first.key) !== first.due) continue;
      this.#due.delete(first.key);
      this.add(first.key);
    }
    this.#arm();
  }

  #dropOutdated(): void {
    const kept = new Heap<Delayed>(sooner);
    for (let entry = this.#delayed.pop(); entry; entry = this.#delayed.pop()) {
      if (this.#due.get(entry.key) === entry.due) kept.push(entry);
    }
    this.#delayed = kept;
  }
}
