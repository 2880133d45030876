import { keyOf, type StoredObject } from "./object.ts";
import { assertUnderWay, type ListHost, type Replacement } from "./replacement.ts";

/**
 * The list of an empty cache. There is nothing to compare it with, so objects go straight to their table and are
 * written once instead of twice; readers see none of them until the commit.
 */
export class FirstList<T extends StoredObject> implements Replacement<T> {
  readonly #host: ListHost<T>;
  #listed = 0;

  constructor(host: ListHost<T>) {
    this.#host = host;
  }

  page(objects: readonly T[]): void {
    assertUnderWay(this.#host, this);
    const { indexer } = this.#host;
    this.#listed += this.#host.write({}, () => {
      let fresh = 0;
      for (const object of objects) if (indexer.add(keyOf(object), object)) fresh++;
      return fresh;
    });
  }

  bury(): boolean {
    assertUnderWay(this.#host, this);
    return false;
  }

  commit(resourceVersion: string): void {
    assertUnderWay(this.#host, this);
    this.#host.commit({ position: resourceVersion }, this.#listed, () => {});
  }

  abort(): void {
    if (this.#host.isUnderWay(this)) this.#host.drop();
  }
}
