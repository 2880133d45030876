interface Entry<T> {
  readonly object: T;
  readonly weight: number;
}

/** Decoded objects within a byte budget. The least recently used goes first; the budget is never exceeded. */
export class DecodeCache<K, T> {
  readonly #budget: number;
  /** A Map keeps the order of insertion: what is used is taken out and put in again, so the oldest comes first. */
  readonly #entries = new Map<K, Entry<T>>();
  #bytes = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** The estimated weight of what is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: K): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.object;
  }

  /** Like `get`, for a walk over everything: being walked past is no use that should outlive another. */
  peek(key: K): T | undefined {
    return this.#entries.get(key)?.object;
  }

  put(key: K, object: T, textLength: number): void {
    this.delete(key);
    const weight = weigh(textLength);
    if (weight > this.#budget) return;
    this.#entries.set(key, { object, weight });
    this.#bytes += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#budget) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}

/** Measured with trimmed pods: a decoded object takes 1.6 times its text on the heap; its key and its entry come on top. */
const weigh = (textLength: number): number => 2 * textLength + 200;
