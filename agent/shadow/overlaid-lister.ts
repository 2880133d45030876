import { type KubeObject, keyOf } from "../api/meta.ts";
import type { Lister } from "../informer/lister.ts";

/** An object with a pretence: the values of its indices, as it is and as it is shown. */
export interface OverlaidEntry {
  readonly isGone: boolean;
  readonly real: IndexValues;
  readonly shown: IndexValues;
}

/** The values of an object by index. */
export type IndexValues = Readonly<Record<string, readonly string[]>>;

interface OverlaidListerDeps<T> {
  readonly real: Lister<T>;
  readonly entries: ReadonlyMap<string, OverlaidEntry>;
  /** The object as shown; undefined if it would no longer exist. */
  readonly shownAs: (object: T) => T | undefined;
}

/** A cache as shadowed controllers see it. Costs nothing more than the real one while nothing is pretended. */
export class OverlaidLister<T extends KubeObject> implements Lister<T> {
  readonly #real: Lister<T>;
  readonly #entries: ReadonlyMap<string, OverlaidEntry>;
  readonly #shownAs: (object: T) => T | undefined;

  constructor({ real, entries, shownAs }: OverlaidListerDeps<T>) {
    this.#real = real;
    this.#entries = entries;
    this.#shownAs = shownAs;
  }

  get(key: string): T | undefined {
    const object = this.#real.get(key);
    return object && this.#shownAs(object);
  }

  *list(): IterableIterator<T> {
    for (const object of this.#real.list()) {
      const shown = this.#shownAs(object);
      if (shown) yield shown;
    }
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    return this.#withShown(this.#real.byIndex(index, value), index, value, (key) => this.get(key));
  }

  referencesByIndex(index: string, value: string): IterableIterator<KubeObject> {
    const referenceTo = (key: string): KubeObject | undefined => {
      const object = this.get(key);
      return object && { metadata: object.metadata };
    };
    return this.#withShown(this.#real.referencesByIndex(index, value), index, value, referenceTo);
  }

  *indexValues(index: string): IterableIterator<string> {
    if (this.#entries.size === 0) {
      yield* this.#real.indexValues(index);
      return;
    }
    // How many more objects are shown with a value than really have it.
    const more = new Map<string, number>();
    for (const { real, shown } of this.#entries.values()) {
      for (const value of real[index] ?? []) more.set(value, (more.get(value) ?? 0) - 1);
      for (const value of shown[index] ?? []) more.set(value, (more.get(value) ?? 0) + 1);
    }
    for (const value of [...new Set([...this.#real.indexValues(index), ...more.keys()])].sort()) {
      const difference = more.get(value) ?? 0;
      if (difference >= 0 || this.#real.countByIndex(index, value) + difference > 0) yield value;
    }
  }

  countByIndex(index: string, value: string): number {
    let count = this.#real.countByIndex(index, value);
    for (const { real, shown } of this.#entries.values()) {
      if (has(real, index, value)) count--;
      if (has(shown, index, value)) count++;
    }
    return count;
  }

  get size(): number {
    return this.#real.size - [...this.#entries.values()].filter(({ isGone }) => isGone).length;
  }

  /** The real objects without a pretence and the pretended ones with the value, in key order. */
  *#withShown<O extends KubeObject>(
    objects: Iterable<O>,
    index: string,
    value: string,
    read: (key: string) => O | undefined,
  ): IterableIterator<O> {
    const keys = [...this.#entries].flatMap(([key, { shown }]) => (has(shown, index, value) ? [key] : [])).sort();
    const upTo = function* (end: string | undefined): IterableIterator<O> {
      for (let key = keys[0]; key !== undefined && (end === undefined || key < end); key = keys[0]) {
        keys.shift();
        const object = read(key);
        if (object) yield object;
      }
    };
    for (const object of objects) {
      const key = keyOf(object);
      yield* upTo(key);
      if (!this.#entries.has(key)) yield object;
    }
    yield* upTo(undefined);
  }
}

const has = (values: IndexValues, index: string, value: string): boolean => values[index]?.includes(value) === true;
