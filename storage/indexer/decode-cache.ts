interface Entry<T> {
  readonly object: T;
  readonly weight: number;
}

/** Decoded objects, within a byte budget that is never exceeded. Evicts the least recently used object first. */
export class DecodeCache<K, T> {
  readonly #budget: number;
  /**
   * A Map keeps insertion order; a used entry is removed and reinserted, so the least recently used one comes first.
   */
  readonly #entries = new Map<K, Entry<T>>();
  #bytes = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Estimated size of the cached objects. */
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

  /** Like `get`, but does not count as a use; for walks over all objects. */
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

/**
 * Estimated bytes of an entry. Measured with trimmed pods: an object takes 1.6 times its JSON on the heap, plus its key
 * and entry.
 */
const weigh = (textLength: number): number => 2 * textLength + 200;
