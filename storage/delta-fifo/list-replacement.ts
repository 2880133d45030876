import type { ObjectTable } from "../indexer/object-table.ts";
import { identityOf, isSame, type Key, keyOf, type StoredObject } from "../object.ts";
import { isRepeatedDeletion } from "./collapse.ts";
import type { Journal } from "./journal.ts";

/** A list of the whole resource, page by page. Until `commit`, readers see the old state, even after a power cut. */
export interface Replacement<T> {
  /** Stores a page in one transaction. */
  page(objects: readonly T[]): void;
  /**
   * After the last page: stages deletions for some of the objects that were not listed, in a transaction of bounded
   * size. Returns whether more steps remain; `commit` does the rest.
   */
  stageDeletions(): boolean;
  /** Makes the list valid in one transaction, together with the remaining deletions and the position. */
  commit(resourceVersion: string): void;
  /** Drops the list. Does nothing after `commit`. */
  abort(): void;
}

/**
 * Writes the pages of a list, which take effect only when the list is complete. Its methods are those of a Replacement,
 * each called inside a transaction of the DeltaFIFO.
 */
export interface ListWriter<T> {
  page(objects: readonly T[]): void;
  stageDeletions(): boolean;
  commit(): void;
  /**
   * Called when the transaction has failed and everything that the method wrote was rolled back; the method may be
   * called again.
   */
  rolledBack(): void;
  /** Listed states that the commit stores without reporting a change. */
  readonly quiet: ReadonlyMap<Key, T>;
  /** Whether the objects are stored without being queued, so that they are reported from the table after the commit. */
  readonly bypassesQueue: boolean;
}

/**
 * The list of an empty cache. There is nothing to compare it with, so objects are written directly to their table, once
 * instead of twice; readers see none of them until the commit.
 */
export class FirstList<T extends StoredObject> implements ListWriter<T> {
  readonly quiet: ReadonlyMap<Key, T> = new Map();
  readonly bypassesQueue = true;
  readonly #table: ObjectTable<T>;

  constructor(table: ObjectTable<T>) {
    this.#table = table;
  }

  page(objects: readonly T[]): void {
    for (const object of objects) this.#table.insert(keyOf(object), object);
  }

  stageDeletions(): boolean {
    return false;
  }

  commit(): void {}

  rolledBack(): void {}
}

/** Progress of the search for objects that were not listed, first in the queue, then among the stored ones. */
type Search =
  | { readonly among: "queued"; readonly after: number | undefined }
  | { readonly among: "stored"; readonly after: Key };

const wholeSearch: Search = { among: "queued", after: undefined };

const keysPerStep = 256;

/**
 * A list for a cache that has already been filled. It waits in the journal, behind the pending deltas, until its
 * commit.
 */
export class StagedList<T extends StoredObject> implements ListWriter<T> {
  readonly bypassesQueue = false;
  readonly #journal: Journal;
  readonly #table: ObjectTable<T>;
  readonly #isQuietUpdate: (stored: T, incoming: T) => boolean;
  readonly #quiet = new Map<Key, T>();
  /** The remaining search; undefined if it is complete. */
  #search: Search | undefined = wholeSearch;

  constructor(deps: {
    readonly journal: Journal;
    readonly table: ObjectTable<T>;
    readonly isQuietUpdate: (stored: T, incoming: T) => boolean;
  }) {
    this.#journal = deps.journal;
    this.#table = deps.table;
    this.#isQuietUpdate = deps.isQuietUpdate;
  }

  get quiet(): ReadonlyMap<Key, T> {
    return this.#quiet;
  }

  page(objects: readonly T[]): void {
    for (const object of objects) this.#list(object);
  }

  /** The search starts over, and skips keys whose deletion is already staged. */
  rolledBack(): void {
    this.#search = wholeSearch;
  }

  /**
   * Stages an object. If it is already stored in this state, or differs only quietly, it is merely marked as listed.
   */
  #list(object: T): void {
    const key = keyOf(object);
    const isPending = this.#journal.newest(key) !== undefined;
    const known = isPending ? undefined : this.#table.identity(key);
    const isUnchanged = known !== undefined && isSame(known, identityOf(object));
    // Only an object whose version differs is decoded.
    const stored = known === undefined || isUnchanged ? undefined : this.#table.get(key);
    const isQuiet = stored !== undefined && this.#isQuietUpdate(stored, object);
    if (isUnchanged || isQuiet) {
      if (isQuiet) this.#quiet.set(key, object);
      this.#journal.markListed(key);
      return;
    }
    this.#quiet.delete(key);
    this.#journal.put(key, "Replaced", identityOf(object), JSON.stringify(object));
  }

  /**
   * Stages a deletion for each object that was not listed. Keys that are only queued come first, in order, then stored
   * ones; a key that is popped between two steps moves from the first group to the second.
   */
  stageDeletions(): boolean {
    const search = this.#search;
    if (search?.among === "queued") this.#search = this.#stageQueued(search.after);
    else if (search?.among === "stored") this.#search = this.#stageStored(search.after);
    return this.#search !== undefined;
  }

  commit(): void {
    while (this.stageDeletions());
    this.#journal.release();
  }

  #stageQueued(after: number | undefined): Search | undefined {
    const { ceiling } = this.#journal;
    const rows = this.#journal.queuedKeys(after, ceiling, keysPerStep);
    for (const { key } of rows) {
      const newest = this.#journal.newest(key);
      // A staged row means that the key was listed, or that its deletion is staged.
      if (newest === undefined || newest.seq > ceiling || isRepeatedDeletion(newest, "Deleted")) continue;
      this.#journal.put(key, "Deleted", newest, null);
    }
    const last = rows.at(-1);
    return last === undefined || rows.length < keysPerStep
      ? this.#stageStored("")
      : { among: "queued", after: last.seq };
  }

  #stageStored(after: Key): Search | undefined {
    const rows = this.#journal.unmentionedAfter(after, keysPerStep);
    for (const { key, uid, version } of rows) this.#journal.put(key, "Deleted", { uid, version }, null);
    const last = rows.at(-1);
    return last === undefined || rows.length < keysPerStep ? undefined : { among: "stored", after: last.key };
  }
}
