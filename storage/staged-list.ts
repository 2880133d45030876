import type { StoredObject } from "./object.ts";
import { assertUnderWay, type ListHost, type Replacement } from "./replacement.ts";
import { type Search, Staging } from "./staging.ts";

/** A list for a cache that holds objects: it waits in the journal, behind the pending deltas, until it is committed. */
export class StagedList<T extends StoredObject> implements Replacement<T> {
  readonly #host: ListHost<T>;
  readonly #staging: Staging<T>;
  #search: Search | undefined = { among: "queued", after: undefined };

  constructor(host: ListHost<T>) {
    this.#host = host;
    this.#staging = new Staging(host);
  }

  page(objects: readonly T[]): void {
    assertUnderWay(this.#host, this);
    this.#host.write({}, () => {
      for (const object of objects) this.#staging.list(object);
    });
  }

  bury(): boolean {
    assertUnderWay(this.#host, this);
    const from = this.#search;
    if (from !== undefined) this.#search = this.#host.write({}, () => this.#staging.bury(from));
    return this.#search !== undefined;
  }

  commit(resourceVersion: string): void {
    assertUnderWay(this.#host, this);
    this.#host.commit({ position: resourceVersion, quiet: this.#staging.quiet }, 0, () => {
      for (let rest = this.#search; rest !== undefined; ) rest = this.#staging.bury(rest);
      this.#host.journal.release();
    });
  }

  abort(): void {
    if (this.#host.isUnderWay(this)) this.#host.drop();
  }
}
