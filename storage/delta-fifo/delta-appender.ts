import type { ObjectTable } from "../indexer/object-table.ts";
import { type Delta, identityOf, type Key, keyOf, type StoredObject } from "../object.ts";
import { isRepeatedDeletion } from "./collapse.ts";
import type { Journal, JournalRow } from "./journal.ts";

/** Queues one group of deltas, inside a transaction of the DeltaFIFO. Reads the newest row of each key once. */
export class DeltaAppender<T extends StoredObject> {
  readonly #journal: Journal;
  readonly #table: ObjectTable<T>;
  readonly #deltasPerObject: number;
  readonly #isEmpty: boolean;
  readonly #newest = new Map<Key, JournalRow | undefined>();
  #keys = 0;
  #merged = 0;

  constructor(deps: {
    readonly journal: Journal;
    readonly table: ObjectTable<T>;
    readonly deltasPerObject: number;
    /** True if nothing was queued before this group and the journal need not be read. */
    readonly isEmpty: boolean;
  }) {
    this.#journal = deps.journal;
    this.#table = deps.table;
    this.#deltasPerObject = deps.deltasPerObject;
    this.#isEmpty = deps.isEmpty;
  }

  /** Number of keys that previously had no queued delta. */
  get keys(): number {
    return this.#keys;
  }

  /** Number of older deltas that were merged into those of this group. */
  get merged(): number {
    return this.#merged;
  }

  isQueued(key: Key): boolean {
    return this.#newestOf(key) !== undefined;
  }

  append({ type, object }: Delta<T>): void {
    const key = keyOf(object);
    const last = this.#newestOf(key);
    const identity = identityOf(object);
    const text = JSON.stringify(object);
    if (last !== undefined && isRepeatedDeletion(last, type)) {
      if (last.hasObject) return;
      this.#journal.overwrite(last.seq, identity, text);
      this.#newest.set(key, { ...last, ...identity, hasObject: true, bytes: text.length });
      return;
    }
    const seq = this.#journal.put(key, type, identity, text);
    this.#newest.set(key, { seq, type, ...identity, hasObject: true, bytes: text.length });
    this.#table.keepPending(seq, object, text.length);
    if (last === undefined) this.#keys++;
    else if (this.#journal.count(key) > this.#deltasPerObject) this.#merged += this.#journal.condense(key);
  }

  #newestOf(key: Key): JournalRow | undefined {
    if (!this.#isEmpty && !this.#newest.has(key)) this.#newest.set(key, this.#journal.newest(key));
    return this.#newest.get(key);
  }
}
