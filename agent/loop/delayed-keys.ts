import type { Clock, Millis, Timer } from "../base/clock.ts";
import { Heap } from "./heap.ts";

interface Entry {
  readonly key: string;
  /** On the monotonic clock. */
  readonly due: Millis;
  readonly order: number;
}

const sooner = (a: Entry, b: Entry): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);

/** Outdated entries may outnumber the keys by this many before they are removed. */
const maxOutdated = 64;

/**
 * Keys that become due after a delay, in the order of their times; equal times in the order of the calls.
 *
 * `#due` has the valid time of each key. The heap finds the next key; a heap entry whose time differs from the key's is
 * outdated, and is skipped when that time comes.
 */
export class DelayedKeys {
  readonly #clock: Clock;
  readonly #onDue: (key: string) => void;
  readonly #due = new Map<string, Millis>();
  #agenda = new Heap<Entry>(sooner);
  #order = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#due.size;
  }

  /** Delays a key. If it is already delayed, the earlier of the two times applies. */
  delay(key: string, by: Millis): void {
    const due = this.#clock.now().mono + by;
    if (due >= (this.#due.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#due.set(key, due);
    this.#agenda.push({ key, due, order: this.#order++ });
    if (this.#agenda.size > 2 * this.#due.size + maxOutdated) this.#dropOutdated();
    if (this.#agenda.peek()?.due === due) this.#arm();
  }

  cancel(key: string): void {
    this.#due.delete(key);
  }

  clear(): void {
    this.#timer?.cancel();
    this.#due.clear();
    this.#agenda = new Heap(sooner);
  }

  #arm(): void {
    this.#timer?.cancel();
    const first = this.#agenda.peek();
    this.#timer = first && this.#clock.after(first.due - this.#clock.now().mono, () => this.#release());
  }

  #release(): void {
    const now = this.#clock.now().mono;
    for (let first = this.#agenda.peek(); first && first.due <= now; first = this.#agenda.peek()) {
      this.#agenda.pop();
      if (this.#due.get(first.key) !== first.due) continue;
      this.#due.delete(first.key);
      this.#onDue(first.key);
    }
    this.#arm();
  }

  #dropOutdated(): void {
    const kept = new Heap<Entry>(sooner);
    for (let entry = this.#agenda.pop(); entry; entry = this.#agenda.pop()) {
      if (this.#due.get(entry.key) === entry.due) kept.push(entry);
    }
    this.#agenda = kept;
  }
}
