import { type Clock, elapsed, type Instant, type Millis, type Timer } from "../base/clock.ts";
import { Fifo } from "../base/fifo.ts";
import { Heap } from "./heap.ts";
import { RetryLimiter, type RetryLimits } from "./retry-limiter.ts";

interface Delayed {
  readonly key: string;
  /** The time on the monotonic clock at which the key is added again. */
  readonly due: Millis;
  readonly order: number;
}

const sooner = (a: Delayed, b: Delayed): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);

/**
 * The keys that a controller must process, as in client-go's workqueue.
 *
 * A key is never processed by two workers at the same time. A key that is added while it waits has a single entry; a
 * key that is added while it is being processed is queued again after `done`. No added key is lost before the shutdown.
 * Keys are taken in the order in which they became ready, preferred ones first.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #limiter: RetryLimiter;
  readonly #ready = new Fifo<string>();
  /** Keys that precede those in `#ready`. A key that is also in `#ready` remains there, and is skipped later. */
  readonly #urgent = new Fifo<string>();
  readonly #preferred = new Set<string>();
  /**
   * Keys that need processing, and when each was added. Those that are not being processed are in `#urgent` or
   * `#ready`.
   */
  readonly #dirty = new Map<string, Instant>();
  readonly #processing = new Set<string>();
  /** Keys delayed during processing; the worker may have missed the change that caused it. */
  readonly #delayedMeanwhile = new Set<string>();
  readonly #waiters = new Set<(key: string | undefined) => void>();
  /** The time at which a delayed key is added again. Heap entries with another time are outdated. */
  readonly #due = new Map<string, Millis>();
  #agenda = new Heap<Delayed>(sooner);
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

  /** Number of keys that will be added again after a delay. */
  get delayed(): number {
    return this.#due.size;
  }

  /** How long the key that is taken next has been waiting; undefined if none waits. */
  oldestWait(now: Instant): Millis | undefined {
    const first = this.#nextFifo()?.peek();
    const since = first === undefined ? undefined : this.#dirty.get(first);
    return since && elapsed(since, now);
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    if (!this.#processing.has(key)) this.#enter(key);
  }

  /** Puts the key ahead of all others until it is forgotten, because something is waiting for its result. */
  prefer(key: string): void {
    if (this.#closed || this.#preferred.has(key)) return;
    this.#preferred.add(key);
    if (this.#isWaiting(key)) this.#enter(key);
  }

  /** Adds the key after a delay. If it is already delayed, the earlier of the two times applies. */
  addAfter(key: string, delay: Millis): void {
    if (this.#closed) return;
    if (!(delay > 0)) {
      this.add(key);
      return;
    }
    if (this.#processing.has(key)) this.#delayedMeanwhile.add(key);
    const due = this.#clock.now().mono + delay;
    if (due >= (this.#due.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#due.set(key, due);
    this.#agenda.push({ key, due, order: this.#order++ });
    if (this.#agenda.size > 2 * this.#due.size + 64) this.#dropOutdated();
    if (this.#agenda.peek()?.due === due) this.#arm();
  }

  /** Adds the key again after its backoff, but no sooner than after `least`. */
  retry(key: string, least: Millis = 0): void {
    if (this.#closed) return;
    this.addAfter(key, Math.max(least, this.#limiter.delay(key, this.#clock.now())));
  }

  /** Cancels the key's delay, unless it was set after the key was taken. */
  undelay(key: string): void {
    if (!this.#delayedMeanwhile.has(key)) this.#due.delete(key);
  }

  /** Resets the key's failures and preference. Does not remove the key from the queue. */
  forget(key: string): void {
    this.#preferred.delete(key);
    this.#limiter.forget(key);
  }

  failures(key: string): number {
    return this.#limiter.failures(key);
  }

  /**
   * Waits for the next key; the caller ends with `done`. Returns undefined if the signal aborted or the queue is shut
   * down.
   */
  take(signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    if (this.#nextFifo() !== undefined || this.#closed) return Promise.resolve(this.#next());
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
    this.#delayedMeanwhile.delete(key);
    if (this.#processing.delete(key) && this.#dirty.has(key)) this.#enter(key);
  }

  /** Refuses new keys and drops delayed ones. `take` still returns the ready keys, and then undefined. */
  shutDown(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#due.clear();
    this.#agenda = new Heap(sooner);
    for (const answer of [...this.#waiters]) answer(undefined);
  }

  #next(): string | undefined {
    const key = this.#nextFifo()?.shift();
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

  /** The Fifo with the next key; undefined if no key is waiting. */
  #nextFifo(): Fifo<string> | undefined {
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
      if (this.#nextFifo() === undefined) return;
      answer(this.#next());
    }
  }

  #arm(): void {
    this.#timer?.cancel();
    const first = this.#agenda.peek();
    this.#timer = first && this.#clock.after(first.due - this.#clock.now().mono, () => this.#addDue());
  }

  #addDue(): void {
    const now = this.#clock.now().mono;
    for (let first = this.#agenda.peek(); first && first.due <= now; first = this.#agenda.peek()) {
      this.#agenda.pop();
      if (this.#due.get(first.key) !== first.due) continue;
      this.#due.delete(first.key);
      this.add(first.key);
    }
    this.#arm();
  }

  #dropOutdated(): void {
    const kept = new Heap<Delayed>(sooner);
    for (let entry = this.#agenda.pop(); entry; entry = this.#agenda.pop()) {
      if (this.#due.get(entry.key) === entry.due) kept.push(entry);
    }
    this.#agenda = kept;
  }
}
