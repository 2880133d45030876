import { type KubeObject, keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import type { Lister } from "./lister.ts";

/**
 * Several caches of one resource, read as one. If two caches hold the same key, because a pod was recreated on another
 * board and the watch of the previous board has not reported its deletion yet, the newer object is used.
 */
export class UnionLister<T extends KubeObject> implements Lister<T> {
  readonly #parts: () => Iterable<Lister<T>>;

  constructor(parts: () => Iterable<Lister<T>>) {
    this.#parts = parts;
  }

  get(key: string): T | undefined {
    return [...this.#parts()]
      .map((part) => part.get(key))
      .filter((object) => object !== undefined)
      .reduce<T | undefined>((best, object) => (best === undefined ? object : newer(best, object)), undefined);
  }

  list(): IterableIterator<T> {
    return merged([...this.#parts()].map((part) => part.list()));
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    return merged([...this.#parts()].map((part) => part.byIndex(index, value)));
  }

  referencesByIndex(index: string, value: string): IterableIterator<KubeObject> {
    return merged([...this.#parts()].map((part) => part.referencesByIndex(index, value)));
  }

  *indexValues(index: string): IterableIterator<string> {
    yield* new Set([...this.#parts()].flatMap((part) => [...part.indexValues(index)]));
  }

  /** A key that two caches hold is counted twice, as in `size`. */
  countByIndex(index: string, value: string): number {
    return [...this.#parts()].reduce((sum, part) => sum + part.countByIndex(index, value), 0);
  }

  get size(): number {
    return [...this.#parts()].reduce((sum, { size }) => sum + size, 0);
  }
}

/** Merges sources that are sorted by key into one sorted sequence. Holds only one object per source on the heap. */
function* merged<T extends KubeObject>(sources: readonly IterableIterator<T>[]): IterableIterator<T> {
  const heads = new Map<IterableIterator<T>, T>();
  const advance = (source: IterableIterator<T>): void => {
    const { done, value } = source.next();
    if (done) heads.delete(source);
    else heads.set(source, value);
  };
  sources.forEach(advance);
  while (heads.size > 0) {
    const [least] = [...heads.values()].map(keyOf).sort();
    const equal = [...heads].filter(([, object]) => keyOf(object) === least);
    yield equal.map(([, object]) => object).reduce(newer);
    for (const [source] of equal) advance(source);
  }
}

const newer = <T extends KubeObject>(a: T, b: T): T =>
  compareVersions(a.metadata.resourceVersion, b.metadata.resourceVersion) > 0 ? a : b;
