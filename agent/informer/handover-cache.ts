import type { IndexFunctions } from "../../storage/object.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Lister } from "./lister.ts";

/** Objects are dropped after this time. By then, any watch without a backlog has reported them. */
const maxHandover: Millis = 10_000;
/** Maximum length of the JSON of all objects, in characters. */
const maxText = 4 * 2 ** 20;

/** An object as JSON, which needs a tenth of the memory of the object, with its values in each index. */
interface Held {
  readonly text: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly size: number;
  readonly since: Instant;
}

/**
 * Objects that move from one watch to another: the first has reported that they are gone, but the second has not
 * reported them yet. A controller that counts objects must find them in the meantime, because otherwise it would
 * recreate them.
 *
 * A tenant's objects may be numerous and large, so if they exceed the limit, the largest are dropped.
 */
export class HandoverCache<T extends KubeObject> implements Lister<T> {
  readonly #clock: Clock;
  readonly #indices: IndexFunctions<T>;
  readonly #held = new Map<string, Held>();
  #size = 0;

  constructor({ clock }: { readonly clock: Clock }, options: { readonly indices: IndexFunctions<T> }) {
    this.#clock = clock;
    this.#indices = options.indices;
  }

  add(object: T): void {
    const key = keyOf(object);
    this.#present();
    this.remove(key);
    const text = JSON.stringify(object);
    const values = new Map(Object.entries(this.#indices).map(([index, of]) => [index, of(object)]));
    const size = [text, ...[...values.values()].flat()].reduce((sum, { length }) => sum + length, 0);
    this.#held.set(key, { text, values, size, since: this.#clock.now() });
    this.#size += size;
    while (this.#size > maxText) this.#dropLargest();
  }

  remove(key: string): void {
    this.#size -= this.#held.get(key)?.size ?? 0;
    this.#held.delete(key);
  }

  get(key: string): T | undefined {
    const held = this.#present().get(key);
    return held && this.#decoded(held);
  }

  list(): IterableIterator<T> {
    return this.#found(() => true);
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    return this.#found(({ values }) => values.get(index)?.includes(value) === true);
  }

  referencesByIndex(index: string, value: string): IterableIterator<T> {
    return this.byIndex(index, value);
  }

  indexValues(index: string): IterableIterator<string> {
    return new Set([...this.#present().values()].flatMap(({ values }) => values.get(index) ?? [])).values();
  }

  countByIndex(index: string, value: string): number {
    return [...this.#present().values()].filter(({ values }) => values.get(index)?.includes(value)).length;
  }

  get size(): number {
    return this.#present().size;
  }

  /** The held objects that match, in key order, decoded one at a time. */
  *#found(isWanted: (held: Held) => boolean): IterableIterator<T> {
    const wanted = [...this.#present()].filter(([, held]) => isWanted(held)).map(([key]) => key);
    for (const key of wanted.sort()) {
      const held = this.#held.get(key);
      if (held) yield this.#decoded(held);
    }
  }

  /** Decodes an object. The JSON was encoded from an object of this type. */
  #decoded({ text }: Held): T {
    return JSON.parse(text) as T;
  }

  /** The objects that are still held, oldest first. Drops those whose time has expired. */
  #present(): ReadonlyMap<string, Held> {
    const now = this.#clock.now();
    for (const [key, { since }] of this.#held) {
      if (elapsed(since, now) <= maxHandover) break;
      this.remove(key);
    }
    return this.#held;
  }

  #dropLargest(): void {
    let largest: { readonly key: string; readonly size: number } | undefined;
    for (const [key, { size }] of this.#held) if (size > (largest?.size ?? 0)) largest = { key, size };
    if (largest) this.remove(largest.key);
  }
}
