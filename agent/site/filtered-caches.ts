import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Lister } from "../informer/lister.ts";
import type { Seen } from "../loop/controller.ts";
import type { Cache, Caches } from "./site-view.ts";

/** Decides which objects are shown; the answer may change over time. */
export interface Filter {
  /** Everything is shown at present: no object needs a check. */
  isOpen(): boolean;
  shows(resource: Resource<KubeObject>, object: KubeObject): boolean;
}

/** Caches without the objects that a filter hides: to a controller such an object has left the selection. */
export class FilteredCaches implements Caches {
  readonly #caches: Caches;
  readonly #filter: Filter;

  constructor(caches: Caches, filter: Filter) {
    this.#caches = caches;
    this.#filter = filter;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const cache = this.#caches.informer(resource);
    const isOpen = (): boolean => this.#filter.isOpen();
    const shows = (object: T): boolean => isOpen() || this.#filter.shows(resource, object);
    return {
      lister: new FilteredLister(cache.lister, shows, isOpen),
      // A getter: a watch's health is replaced with every event.
      get health() {
        return cache.health;
      },
      onChange: (listen) =>
        cache.onChange((changes) => listen(isOpen() ? changes : changes.flatMap((one) => seen(one, shows)))),
    };
  }
}

class FilteredLister<T> implements Lister<T> {
  readonly #all: Lister<T>;
  readonly #shows: (object: T) => boolean;
  readonly #isOpen: () => boolean;

  constructor(all: Lister<T>, shows: (object: T) => boolean, isOpen: () => boolean) {
    this.#all = all;
    this.#shows = shows;
    this.#isOpen = isOpen;
  }

  get(key: string): T | undefined {
    const object = this.#all.get(key);
    return object !== undefined && this.#shows(object) ? object : undefined;
  }

  list(): IterableIterator<T> {
    return this.#isOpen() ? this.#all.list() : filtered(this.#all.list(), this.#shows);
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    const found = this.#all.byIndex(index, value);
    return this.#isOpen() ? found : filtered(found, this.#shows);
  }

  *indexValues(index: string): IterableIterator<string> {
    for (const value of this.#all.indexValues(index)) {
      if (this.#isOpen() || !this.byIndex(index, value).next().done) yield value;
    }
  }

  countByIndex(index: string, value: string): number {
    return this.#isOpen() ? this.#all.countByIndex(index, value) : countOf(this.byIndex(index, value));
  }

  get size(): number {
    return this.#isOpen() ? this.#all.size : countOf(this.list());
  }
}

function countOf(objects: Iterable<unknown>): number {
  let count = 0;
  for (const _ of objects) count++;
  return count;
}

function* filtered<T>(objects: IterableIterator<T>, shows: (object: T) => boolean): IterableIterator<T> {
  for (const object of objects) if (shows(object)) yield object;
}

/** A change as the filter shows it: an object may appear or vanish. Empty if neither side of it is shown. */
function seen<T>({ key, before, after }: Seen<T>, shows: (object: T) => boolean): readonly Seen<T>[] {
  const visible = (object: T | undefined): T | undefined =>
    object !== undefined && shows(object) ? object : undefined;
  const change = { key, before: visible(before), after: visible(after) };
  return change.before === undefined && change.after === undefined ? [] : [change];
}
