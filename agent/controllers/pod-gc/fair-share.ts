import { alternating } from "../../base/alternating.ts";

/**
 * Collects a limited number of items of many namespaces. Beyond the limit, the namespace with the most of them gives way,
 * so that none keeps out the items of others.
 */
export class FairShare<T> {
  readonly #most: number;
  readonly #namespaceOf: (item: T) => string;
  readonly #byNamespace = new Map<string, T[]>();
  #count = 0;
  /** No namespace has more items than this. */
  #largest = 0;

  constructor(most: number, namespaceOf: (item: T) => string) {
    this.#most = most;
    this.#namespaceOf = namespaceOf;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the item that has no room: this one, or one of the namespace with the most; undefined if there is room. */
  add(item: T): T | undefined {
    const namespace = this.#namespaceOf(item);
    const own = this.#byNamespace.get(namespace) ?? [];
    if (this.#count < this.#most) {
      this.#byNamespace.set(namespace, own);
      own.push(item);
      this.#count++;
      this.#largest = Math.max(this.#largest, own.length);
      return undefined;
    }
    if (own.length + 1 >= this.#largest) return item;
    const all = [...this.#byNamespace.values()];
    this.#largest = all.reduce((most, { length }) => Math.max(most, length), 0);
    if (own.length + 1 >= this.#largest) return item;
    this.#byNamespace.set(namespace, own);
    own.push(item);
    return all.find(({ length }) => length === this.#largest)?.pop();
  }

  /** The items, one of each namespace in turn. */
  inTurns(): readonly T[] {
    return alternating([...this.#byNamespace.values()].flat(), (item) => [this.#namespaceOf(item)]);
  }
}
