import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { DelayedKeys } from "./delayed-keys.ts";
import { type AddedKey, KeyLine } from "./key-line.ts";
import { RetryLimiter, type RetryLimits } from "./retry-limiter.ts";

/**
 * The keys that a controller must process, as in client-go's workqueue, but the namespaces of the keys take turns.
 *
 * A key is never processed by two workers at the same time. A key that is added while it waits has a single entry; a
 * key that is added while it is being processed is queued again after `done`. No added key is lost before the shutdown.
 * Within a namespace, keys are taken in the order in which they became ready. Preferred keys are taken first.
 *
 * Between two calls:
 *
 * - A key is in `#dirty` from `add` until it is taken, and in `#processing` from then until `done`. It waits to be
 *   taken while it is in `#dirty` and not in `#processing`.
 * - Each waiting key has one place, in `#urgent` or in `#ready`. A key that is preferred while it waits leaves its old
 *   place behind: a place is valid if it holds the same entry as `#dirty`, and `#skipToNext` skips the others.
 * - A key in `#delayedWhileProcessing` is in `#processing`.
 * - If there are `#waiters`, no key waits.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #limiter: RetryLimiter;
  readonly #ready = new KeyLine();
  /** Preferred keys, which are taken before those in `#ready`. */
  readonly #urgent = new KeyLine();
  readonly #preferred = new Set<string>();
  /** Keys that need processing. */
  readonly #dirty = new Map<string, AddedKey>();
  readonly #processing = new Set<string>();
  readonly #delayed: DelayedKeys;
  /** Keys that were delayed while being processed; the worker may have missed the change that caused the delay. */
  readonly #delayedWhileProcessing = new Set<string>();
  readonly #waiters = new Set<(key: string | undefined) => void>();
  #closed = false;

  constructor({ clock }: { readonly clock: Clock }, { retry }: { readonly retry?: RetryLimits } = {}) {
    this.#clock = clock;
    this.#limiter = new RetryLimiter(retry);
    this.#delayed = new DelayedKeys(clock, (key) => this.add(key));
  }

  /** Number of keys that are ready to be taken. */
  get size(): number {
    let size = this.#dirty.size;
    for (const key of this.#processing) if (this.#dirty.has(key)) size--;
    return size;
  }

  /** Number of keys that will be added again after a delay. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /**
   * How long the key that is taken next has been waiting; undefined if none waits. Others may have waited for longer,
   * because namespaces take turns.
   */
  nextWait(now: Instant): Millis | undefined {
    const next = this.#skipToNext()?.peek();
    return next && elapsed(next.since, now);
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    const added = { key, since: this.#clock.now() };
    this.#dirty.set(key, added);
    if (!this.#processing.has(key)) this.#enter(added);
  }

  /** Puts the key ahead of all others until it is forgotten, because something is waiting for its result. */
  prefer(key: string): void {
    if (this.#closed || this.#preferred.has(key)) return;
    this.#preferred.add(key);
    const added = this.#dirty.get(key);
    if (added === undefined) return;
    const moved = { ...added };
    this.#dirty.set(key, moved);
    if (!this.#processing.has(key)) this.#enter(moved);
  }

  /** Adds the key after a delay. If it is already delayed, the earlier of the two times applies. */
  addAfter(key: string, delay: Millis): void {
    if (this.#closed) return;
    if (!(delay > 0)) {
      this.add(key);
      return;
    }
    if (this.#processing.has(key)) this.#delayedWhileProcessing.add(key);
    this.#delayed.delay(key, delay);
  }

  /** Adds the key again after its backoff, but no sooner than after `least`. */
  retry(key: string, least: Millis = 0): void {
    if (this.#closed) return;
    this.addAfter(key, Math.max(least, this.#limiter.delay(key, this.#clock.now())));
  }

  /** Cancels the key's delay, unless it was set after the key was taken. */
  cancelDelay(key: string): void {
    if (!this.#delayedWhileProcessing.has(key)) this.#delayed.cancel(key);
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
    if (this.#skipToNext() !== undefined || this.#closed) return Promise.resolve(this.#next());
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
    this.#delayedWhileProcessing.delete(key);
    const again = this.#dirty.get(key);
    if (this.#processing.delete(key) && again !== undefined) this.#enter(again);
  }

  /** Refuses new keys and drops delayed ones. `take` still returns the ready keys, and then undefined. */
  shutDown(): void {
    this.#closed = true;
    this.#delayed.clear();
    for (const answer of [...this.#waiters]) answer(undefined);
  }

  #next(): string | undefined {
    const next = this.#skipToNext()?.shift();
    if (next === undefined) return undefined;
    this.#dirty.delete(next.key);
    this.#processing.add(next.key);
    return next.key;
  }

  #enter(added: AddedKey): void {
    (this.#preferred.has(added.key) ? this.#urgent : this.#ready).push(added);
    this.#handOut();
  }

  /**
   * Drops places that were left behind until the next key is at the head of a line, and returns this line; undefined if
   * no key waits.
   */
  #skipToNext(): KeyLine | undefined {
    for (const line of [this.#urgent, this.#ready]) {
      for (let first = line.peek(); first !== undefined; first = line.peek()) {
        if (this.#dirty.get(first.key) === first) return line;
        line.drop();
      }
    }
    return undefined;
  }

  #handOut(): void {
    for (const answer of this.#waiters) {
      if (this.#skipToNext() === undefined) return;
      answer(this.#next());
    }
  }
}
