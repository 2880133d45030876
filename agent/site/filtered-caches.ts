import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Lister } from "../informer/lister.ts";
import type { ObjectChange } from "../loop/controller.ts";
import type { Cache, Caches } from "../loop/site-view.ts";

/** Decides which objects controllers see. The answer may change over time. */
export interface Filter {
  /** True if all objects are currently shown and none needs a check. */
  isOpen(): boolean;
  shows(resource: Resource<KubeObject>, object: KubeObject): boolean;
  /** Whether the objects with this value of an index are shown; undefined if each of them must be checked. */
  showsValue?(resource: Resource<KubeObject>, index: string, value: string): boolean | undefined;
}

/** Caches without the objects that a filter hides: for a controller, a hidden object does not exist. */
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
    const showsValue = (index: string, value: string): boolean | undefined =>
      isOpen() || this.#filter.showsValue?.(resource, index, value);
    return {
      lister: new FilteredLister(cache.lister, { isOpen, shows, showsValue }),
      // A getter, because the value is replaced with every event.
      get health() {
        return cache.health;
      },
      get position() {
        return cache.position;
      },
      onChange: (listen) =>
        cache.onChange((changes) => listen(isOpen() ? changes : changes.flatMap((one) => visible(one, shows)))),
    };
  }
}

class FilteredLister<T extends KubeObject> implements Lister<T> {
  readonly #all: Lister<T>;
  readonly #isOpen: () => boolean;
  readonly #shows: (object: T) => boolean;
  readonly #showsValue: (index: string, value: string) => boolean | undefined;

  constructor(
    all: Lister<T>,
    filter: {
      readonly isOpen: () => boolean;
      readonly shows: (object: T) => boolean;
      readonly showsValue: (index: string, value: string) => boolean | undefined;
    },
  ) {
    this.#all = all;
    this.#isOpen = filter.isOpen;
    this.#shows = filter.shows;
    this.#showsValue = filter.showsValue;
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

  *referencesByIndex(index: string, value: string): IterableIterator<KubeObject> {
    const isShown = this.#showsValue(index, value);
    if (isShown === undefined) yield* this.byIndex(index, value);
    else if (isShown) yield* this.#all.referencesByIndex(index, value);
  }

  *indexValues(index: string): IterableIterator<string> {
    for (const value of this.#all.indexValues(index)) {
      if (this.#showsValue(index, value) ?? !this.byIndex(index, value).next().done) yield value;
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

/**
 * A change as seen through the filter: an addition or deletion if only one of the two states is shown, none if neither
 * is.
 */
function visible<T>(
  { key, before, after }: ObjectChange<T>,
  shows: (object: T) => boolean,
): readonly ObjectChange<T>[] {
  const shown = (object: T | undefined): T | undefined => (object !== undefined && shows(object) ? object : undefined);
  const change = { key, before: shown(before), after: shown(after) };
  return change.before === undefined && change.after === undefined ? [] : [change];
}
