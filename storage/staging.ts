import type { Indexer } from "./indexer.ts";
import type { Journal } from "./journal.ts";
import { identityOf, isSame, type Key, keyOf, type StoredObject } from "./object.ts";

/** Keys examined per step of the search for deletions. */
const page = 256;

/** Progress of the search for objects not listed: first through the queue, then through the stored objects. */
export type Search =
  | { readonly among: "queued"; readonly after: number | undefined }
  | { readonly among: "stored"; readonly after: Key };

/** A Replace under way: its list, until it is complete. */
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

  /** States to be stored at the end of the Replace without reporting a change. */
  get quiet(): ReadonlyMap<Key, T> {
    return this.#quiet;
  }

  /** Inside the transaction of a page. An object stored exactly as listed costs only a mark. */
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
   * Inside a transaction, once everything was listed: one step of the search for objects not listed, staging a deletion
   * for each. Keys that are only queued come first, in order, then stored ones; keys popped between two steps move from
   * the first group to the second. Returns its progress; undefined at the end.
   */
  bury(search: Search): Search | undefined {
    return search.among === "queued" ? this.#buryQueued(search.after) : this.#buryStored(search.after);
  }

  #buryQueued(after: number | undefined): Search | undefined {
    const { ceiling } = this.#journal;
    const rows = this.#journal.queued(after, ceiling, page);
    for (const { key } of rows) {
      const newest = this.#journal.newest(key);
      // Staged: listed, or buried a moment ago. Deleted: the older of two deletions is kept.
      if (newest === undefined || newest.seq > ceiling || newest.type === "Deleted") continue;
      this.#journal.put(key, "Deleted", newest, null);
    }
    const last = rows.at(-1);
    return last === undefined || rows.length < page ? this.#buryStored("") : { among: "queued", after: last.seq };
  }

  #buryStored(after: Key): Search | undefined {
    const rows = this.#journal.unmentionedAfter(after, page);
    for (const { key, uid, version } of rows) this.#journal.put(key, "Deleted", { uid, version }, null);
    const last = rows.at(-1);
    return last === undefined || rows.length < page ? undefined : { among: "stored", after: last.key };
  }

  #isQuietChange(key: Key, object: T): boolean {
    const stored = this.#indexer.get(key);
    return stored !== undefined && this.#isQuiet(stored, object);
  }
}
