import type { Indexer } from "./indexer.ts";
import type { Journal } from "./journal.ts";
import { identityOf, isSame, type Key, keyOf, type StoredObject } from "./object.ts";

/** How many keys are read at once where deletions are looked for. */
const page = 256;

/** A Replace under way: what its list says, until all of it has come. */
export class Staging<T extends StoredObject> {
  readonly #journal: Journal;
  readonly #indexer: Indexer<T>;
  readonly #isQuiet: (stored: T, incoming: T) => boolean;
  readonly #quiet = new Map<Key, T>();

  constructor(parts: {
    readonly journal: Journal;
    readonly indexer: Indexer<T>;
    readonly isQuiet: (stored: T, incoming: T) => boolean;
  }) {
    this.#journal = parts.journal;
    this.#indexer = parts.indexer;
    this.#isQuiet = parts.isQuiet;
  }

  /** Objects to be stored with the end of the Replace, which nobody need be told of. */
  get quiet(): ReadonlyMap<Key, T> {
    return this.#quiet;
  }

  /** Inside the transaction of a page. What is stored as it is listed costs only a mark. */
  list(object: T): void {
    const key = keyOf(object);
    const waits = this.#journal.newest(key) !== undefined;
    const stored = waits ? undefined : this.#indexer.identity(key);
    const known = stored !== undefined && isSame(stored, identityOf(object));
    if (known || (stored !== undefined && this.#isQuietChange(key, object))) {
      if (!known) this.#quiet.set(key, object);
      this.#journal.see(key);
      return;
    }
    this.#quiet.delete(key);
    this.#journal.put(key, "Replaced", identityOf(object), JSON.stringify(object));
  }

  /**
   * Inside the transaction that ends the Replace: queues the deletion of what the list does not mention. First come keys
   * that only wait in the queue, in their order, then stored ones.
   */
  bury(): void {
    const { ceiling } = this.#journal;
    for (const key of this.#journal.queued(ceiling, page)) {
      const newest = this.#journal.newest(key);
      // Staged: listed, or buried a moment ago. Deleted: the older of two deletions is kept.
      if (newest === undefined || newest.seq > ceiling || newest.type === "Deleted") continue;
      this.#journal.put(key, "Deleted", newest, null);
    }
    for (const { key, uid, version } of this.#journal.unmentioned()) {
      this.#journal.put(key, "Deleted", { uid, version }, null);
    }
  }

  #isQuietChange(key: Key, object: T): boolean {
    const stored = this.#indexer.get(key);
    return stored !== undefined && this.#isQuiet(stored, object);
  }
}
