import type { IndexFunctions } from "../../storage/object.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Lister } from "./lister.ts";

/** A watch that is not behind reports an object's new place within this time. */
const patience: Millis = 10_000;

/**
 * Objects that moved from one watch to another: the first has reported that they left, the second not yet that they
 * arrived. A controller that counts objects must not miss them in between, or it would create them again.
 */
export class HandoverCache<T extends KubeObject> implements Lister<T> {
  readonly #clock: Clock;
  readonly #indices: IndexFunctions<T>;
  readonly #objects = new Map<string, { readonly object: T; readonly since: Instant }>();

  constructor({ clock }: { readonly clock: Clock }, parts: { readonly indices: IndexFunctions<T> }) {
    this.#clock = clock;
    this.#indices = parts.indices;
  }

  add(object: T): void {
    const now = this.#clock.now();
    for (const [key, { since }] of this.#objects) if (elapsed(since, now) > patience) this.#objects.delete(key);
    this.#objects.set(keyOf(object), { object, since: now });
  }

  remove(key: string): void {
    this.#objects.delete(key);
  }

  get(key: string): T | undefined {
    const found = this.#objects.get(key);
    return found && elapsed(found.since, this.#clock.now()) <= patience ? found.object : undefined;
  }

  list(): IterableIterator<T> {
    return [...this.#objects.keys()]
      .sort()
      .flatMap((key) => this.get(key) ?? [])
      .values();
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    return [...this.list()].filter((object) => this.#valuesOf(index, object).includes(value)).values();
  }

  indexValues(index: string): IterableIterator<string> {
    return new Set([...this.list()].flatMap((object) => this.#valuesOf(index, object))).values();
  }

  countByIndex(index: string, value: string): number {
    return [...this.byIndex(index, value)].length;
  }

  get size(): number {
    return [...this.list()].length;
  }

  #valuesOf(index: string, object: T): readonly string[] {
    return this.#indices[index]?.(object) ?? [];
  }
}
