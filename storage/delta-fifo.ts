import { collapse } from "./collapse.ts";
import type { Database } from "./database.ts";
import type { Indexer } from "./indexer.ts";
import { Journal, type JournalRow } from "./journal.ts";
import { type Change, type Delta, identityOf, isSame, type Key, keyOf, type StoredObject } from "./object.ts";
import { Staging } from "./staging.ts";

/** A new list of everything, page by page. Nothing of it shows before `commit`; a power cut before leaves what was. */
export interface Replacement<T> {
  /** One transaction per page. */
  page(objects: readonly T[]): void;
  /** The end, in one transaction: the staged pages, deletions of what was not listed, and the position. */
  commit(resourceVersion: string): void;
  abort(): void;
}

/**
 * Pending deltas of one resource, on disk. `append` and `replace` put them there together with the watch position; `pop`
 * applies them to the Indexer and tells what changed. After a power cut at any line, position, journal and objects fit.
 *
 * Two things wait in memory until the resource writes anyway: states that differ only in what `quiet` allows, and the
 * position. They go in one transaction, so that a stored position never runs ahead of the stored objects; a loss of
 * both together only means that the watch tells them again.
 *
 * Every method that writes is a transaction of its own and cannot be called inside another one.
 */
export class DeltaFIFO<T extends StoredObject> {
  readonly #database: Database;
  readonly #indexer: Indexer<T>;
  readonly #journal: Journal;
  readonly #deltasPerObject: number;
  readonly #quiet: ((stored: T, incoming: T) => boolean) | undefined;
  #position: string | undefined;
  #storedPosition: string | undefined;
  #populated: boolean;
  #depth: number;
  /** Keys of the first list, or of a journal found at start, that have not been popped yet. */
  #initial: number;
  #merged = 0;
  #staging: Staging<T> | undefined;

  /** Drops what an unfinished Replace left behind. */
  constructor(parts: {
    readonly database: Database;
    readonly resource: string;
    readonly indexer: Indexer<T>;
    /** More pending deltas of one object than this are merged. */
    readonly deltasPerObject: number;
    /** True if the difference is not worth a write or a wake. Asked only for the same uid and equal index values. */
    readonly quiet?: (stored: T, incoming: T) => boolean;
  }) {
    const { database, resource, indexer, deltasPerObject, quiet } = parts;
    this.#database = database;
    this.#indexer = indexer;
    this.#deltasPerObject = deltasPerObject;
    this.#quiet = quiet;
    this.#journal = new Journal(database, resource);
    database.transaction(() => this.#journal.discard());
    this.#position = this.#storedPosition = this.#journal.position;
    this.#populated = this.#journal.populated;
    this.#depth = this.#initial = this.#journal.depth;
  }

  /** From where to resume the watch. */
  get resourceVersion(): string | undefined {
    return this.#position;
  }

  /** The first list has been popped; after a restart: there was one, and what then waited has been popped. */
  get hasSynced(): boolean {
    return this.#populated && this.#initial === 0;
  }

  /** How many keys wait. */
  get depth(): number {
    return this.#depth;
  }

  /** How many deltas were merged into newer ones since the start. */
  get merged(): number {
    return this.#merged;
  }

  /**
   * Writes the deltas and the watch position together: after a power cut both are there or neither is. If all of them are
   * quiet, both wait in memory. Deletions of unknown objects are ignored. Ends a Replace that was not committed.
   */
  append(deltas: readonly Delta<T>[], resourceVersion: string): void {
    this.#endStaging();
    const { loud, quiet } = this.#sort(deltas);
    if (loud.length === 0 && (this.#populated || deltas.length === 0)) {
      this.#indexer.keepQuiet(quiet);
      this.#position = resourceVersion;
      return;
    }
    const fresh = new Set<Key>();
    let merged = 0;
    this.#write({ position: resourceVersion, populated: true, quiet }, () => {
      for (const delta of loud) merged += this.#put(delta, fresh);
    });
    this.#depth += fresh.size;
    this.#merged += merged;
  }

  /** A position without news. It waits in memory. */
  bookmark(resourceVersion: string): void {
    this.#position = resourceVersion;
  }

  /** Begins a new list; one that was begun before and not committed is dropped. */
  replace(): Replacement<T> {
    const staging = new Staging<T>({
      journal: this.#journal,
      indexer: this.#indexer,
      isQuiet: (stored, incoming) => this.#isQuiet(stored, incoming),
    });
    this.#write({}, () => {
      this.#journal.discard();
      this.#journal.stage();
    });
    this.#staging = staging;
    const check = (): void => {
      if (this.#staging !== staging) throw new Error("this Replace has ended");
    };
    return {
      page: (objects) => {
        check();
        this.#write({}, () => {
          for (const object of objects) staging.list(object);
        });
      },
      commit: (resourceVersion) => {
        check();
        this.#commit(staging, resourceVersion);
      },
      abort: () => {
        if (this.#staging === staging) this.#endStaging();
      },
    };
  }

  /** Queues a Sync for every stored object that has no delta waiting. While a list is under way it will tell all. */
  resync(): void {
    if (this.#staging !== undefined) return;
    let queued = 0;
    this.#write({}, () => {
      for (const { key, uid, version } of this.#journal.unmentioned()) {
        this.#journal.put(key, "Sync", { uid, version }, null);
        queued++;
      }
    });
    this.#depth += queued;
  }

  /**
   * Takes the oldest keys, at most `limit`, with all their deltas. One transaction: objects and index rows are written,
   * the journal rows erased. An empty answer means that nothing waits any more.
   */
  pop(limit: number): readonly Change<T>[] {
    while (this.#depth > 0) {
      const { keys, changes } = this.#write({}, () => this.#apply(limit));
      this.#depth -= keys;
      this.#initial = Math.max(0, this.#initial - keys);
      if (changes.length > 0) return changes;
    }
    return [];
  }

  /** Writes what waits in memory. For a clean stop. */
  flush(): void {
    if (this.#indexer.hasQuiet || this.#position !== this.#storedPosition) this.#write({}, () => undefined);
  }

  /** One transaction, in which everything that waits in memory rides along. Memory follows when it has committed. */
  #write<R>(
    next: { readonly position?: string; readonly populated?: boolean; readonly quiet?: ReadonlyMap<Key, T> },
    work: () => R,
  ): R {
    if (this.#database.inTransaction) throw new Error("a DeltaFIFO writes in transactions of its own");
    const { position = this.#position, populated = this.#populated, quiet = new Map<Key, T>() } = next;
    let result: R;
    try {
      result = this.#database.transaction(() => {
        this.#indexer.writeQuiet(quiet);
        if (position !== this.#storedPosition || populated !== this.#populated)
          this.#journal.moveTo(position, populated);
        return work();
      });
    } catch (error) {
      this.#indexer.forget();
      throw error;
    }
    this.#indexer.wroteQuiet(quiet);
    this.#position = this.#storedPosition = position;
    this.#populated = populated;
    return result;
  }

  /** Tells apart what is worth a write from what is not, and leaves out what means nothing. */
  #sort(deltas: readonly Delta<T>[]): { readonly loud: readonly Delta<T>[]; readonly quiet: ReadonlyMap<Key, T> } {
    const loud: Delta<T>[] = [];
    const keys = new Set<Key>();
    const quiet = new Map<Key, T>();
    for (const delta of deltas) {
      const key = keyOf(delta.object);
      const waits = keys.has(key) || this.#newest(key) !== undefined;
      if (delta.type === "Deleted") {
        if (!waits && this.#indexer.identity(key) === undefined) continue;
      } else if (!waits && this.#quiet !== undefined) {
        const stored = quiet.get(key) ?? this.#indexer.get(key);
        if (stored !== undefined && this.#isQuiet(stored, delta.object)) {
          quiet.set(key, delta.object);
          continue;
        }
      }
      loud.push(delta);
      keys.add(key);
    }
    return { loud, quiet };
  }

  #isQuiet(stored: T, incoming: T): boolean {
    return (
      this.#quiet !== undefined &&
      stored.metadata.uid === incoming.metadata.uid &&
      this.#quiet(stored, incoming) &&
      this.#indexer.agree(stored, incoming)
    );
  }

  #newest(key: Key): JournalRow | undefined {
    return this.#depth === 0 ? undefined : this.#journal.newest(key);
  }

  /** Returns how many deltas were merged. Of two deletions in a row the older stays, unless it is a tombstone. */
  #put({ type, object }: Delta<T>, fresh: Set<Key>): number {
    const key = keyOf(object);
    const newest = fresh.has(key) ? this.#journal.newest(key) : this.#newest(key);
    const text = JSON.stringify(object);
    if (newest !== undefined && newest.type === "Deleted" && type === "Deleted") {
      if (newest.bytes === null) this.#journal.overwrite(newest.seq, identityOf(object), text);
      return 0;
    }
    const seq = this.#journal.put(key, type, identityOf(object), text);
    this.#indexer.decoded.put(seq, object, text.length);
    if (newest === undefined) {
      fresh.add(key);
      return 0;
    }
    return this.#journal.count(key) > this.#deltasPerObject ? this.#journal.condense(key) : 0;
  }

  #apply(limit: number): { readonly keys: number; readonly changes: readonly Change<T>[] } {
    const { ceiling } = this.#journal;
    const keys = new Set<Key>();
    for (const key of this.#journal.queued(ceiling, limit)) {
      keys.add(key);
      if (keys.size >= limit) break;
    }
    const changes: Change<T>[] = [];
    for (const key of keys) changes.push(...this.#applyKey(key, ceiling));
    return { keys: keys.size, changes };
  }

  #applyKey(key: Key, ceiling: number): readonly Change<T>[] {
    const rows = this.#journal.rows(key, ceiling);
    const before = this.#indexer.get(key);
    const { changes, after, row } = collapse(key, before, rows, ({ seq }) => this.#object(seq));
    if (after === undefined) {
      if (before !== undefined) this.#indexer.remove(key, before);
    } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) {
      this.#indexer.adopt(key, before, after, row);
    }
    for (const { seq } of rows) this.#indexer.decoded.delete(seq);
    this.#journal.erase(key, ceiling);
    return changes;
  }

  #object(seq: number): T {
    return this.#indexer.decoded.get(seq) ?? this.#indexer.decode(this.#journal.text(seq));
  }

  #commit(staging: Staging<T>, resourceVersion: string): void {
    const isFirst = !this.#populated;
    this.#depth = this.#write({ position: resourceVersion, populated: true, quiet: staging.quiet }, () => {
      staging.bury();
      this.#journal.release();
      return this.#journal.depth;
    });
    this.#staging = undefined;
    if (isFirst) this.#initial = this.#depth;
  }

  #endStaging(): void {
    if (this.#staging === undefined) return;
    this.#write({}, () => this.#journal.discard());
    this.#staging = undefined;
  }
}
