import { collapse } from "./collapse.ts";
import type { Database } from "./database.ts";
import { heldRows } from "./held-deltas.ts";
import type { Indexer } from "./indexer.ts";
import { Journal, type JournalRow } from "./journal.ts";
import { type Change, type Delta, identityOf, isSame, type Key, keyOf, type StoredObject } from "./object.ts";
import { type Sorted, sortDeltas } from "./sort-deltas.ts";
import { type Search, Staging } from "./staging.ts";

/** A new list of everything, page by page. Nothing of it shows before `commit`; a power cut before leaves what was. */
export interface Replacement<T> {
  /** One transaction per page. */
  page(objects: readonly T[]): void;
  /**
   * After the last page: a step of the search for what was not listed, in a transaction of bounded size, and whether there
   * is more. `commit` does what is left of it.
   */
  bury(): boolean;
  /** The end, in one transaction: the staged pages, deletions of what was not listed, and the position. */
  commit(resourceVersion: string): void;
  abort(): void;
}

/**
 * Pending deltas of one resource, on disk. `append` and `replace` put them there together with the watch position; `pop`
 * applies them to the Indexer and tells what changed; `take` does both at once where nothing waits. After a power cut at
 * any line, position, journal and objects fit.
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
    const { loud, quiet } = this.#sorted(deltas);
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
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

  /**
   * Applies the deltas at once and tells what changed, where nothing waits in the journal: what `append` and `pop` come
   * to, in one transaction, and no delta is written twice. After a power cut objects and position are both there, and
   * nobody was told, or neither is. Undefined: something waits, so that these have to wait behind it. Nothing was done.
   */
  take(deltas: readonly Delta<T>[], resourceVersion: string): readonly Change<T>[] | undefined {
    if (this.#depth > 0) return undefined;
    const { loud, quiet } = this.#sorted(deltas);
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
      return [];
    }
    return this.#write({ position: resourceVersion, populated: true, quiet }, () => this.#applyHeld(loud, quiet));
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
    let search: Search | undefined = { among: "queued", after: undefined };
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
      bury: () => {
        check();
        const from = search;
        if (from !== undefined) search = this.#write({}, () => staging.bury(from));
        return search !== undefined;
      },
      commit: (resourceVersion) => {
        check();
        this.#commit(staging, search, resourceVersion);
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

  /** A Replace that was not committed ends before. */
  #sorted(deltas: readonly Delta<T>[]): Sorted<T> {
    this.#endStaging();
    return sortDeltas(deltas, {
      indexer: this.#indexer,
      waits: (key) => this.#newest(key) !== undefined,
      isQuiet: this.#quiet && ((stored, incoming) => this.#isQuiet(stored, incoming)),
    });
  }

  /** The very first delta is written even if it means nothing: from then on the resource counts as populated. */
  #waitsInMemory(deltas: readonly Delta<T>[], loud: readonly Delta<T>[]): boolean {
    return loud.length === 0 && (this.#populated || deltas.length === 0);
  }

  #keep(quiet: ReadonlyMap<Key, T>, resourceVersion: string): void {
    this.#indexer.keepQuiet(quiet);
    this.#position = resourceVersion;
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

  /** Reads and erases the head of the queue as a whole, and key by key only what comes again behind it. */
  #apply(limit: number): { readonly keys: number; readonly changes: readonly Change<T>[] } {
    const { ceiling } = this.#journal;
    const head = this.#journal.queued(undefined, ceiling, limit);
    const last = head.at(-1);
    if (last === undefined) return { keys: 0, changes: [] };
    const byKey = new Map<Key, JournalRow[]>();
    for (const row of head) {
      const rows = byKey.get(row.key);
      if (rows === undefined) byKey.set(row.key, [row]);
      else rows.push(row);
    }
    for (const key of head.length < limit ? [] : this.#journal.behind(last.seq, ceiling)) {
      byKey.set(key, [...this.#journal.rows(key, ceiling)]);
    }
    const changes: Change<T>[] = [];
    for (const [key, rows] of byKey) {
      changes.push(...this.#applyKey(key, rows));
      if ((rows.at(-1)?.seq ?? 0) > last.seq) this.#journal.erase(key, ceiling);
    }
    this.#journal.eraseHead(last.seq);
    return { keys: byKey.size, changes };
  }

  /** `quiet`: what the same group brought before these, and what was already written in this transaction. */
  #applyHeld(deltas: readonly Delta<T>[], quiet: ReadonlyMap<Key, T>): readonly Change<T>[] {
    const told: Change<T>[] = [];
    for (const [key, rows] of heldRows(deltas)) {
      const before = quiet.get(key) ?? this.#indexer.get(key);
      const { changes, after, row } = collapse(key, before, rows, ({ object }) => object);
      if (after === undefined) {
        if (before !== undefined) this.#indexer.remove(key, before);
      } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) {
        this.#indexer.put(key, before, after);
      }
      told.push(...changes);
    }
    return told;
  }

  #applyKey(key: Key, rows: readonly JournalRow[]): readonly Change<T>[] {
    const before = this.#indexer.get(key);
    const { changes, after, row } = collapse(key, before, rows, ({ seq }) => this.#object(seq));
    if (after === undefined) {
      if (before !== undefined) this.#indexer.remove(key, before);
    } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) {
      this.#indexer.adopt(key, before, after, row);
    }
    for (const { seq } of rows) this.#indexer.decoded.delete(seq);
    return changes;
  }

  #object(seq: number): T {
    return this.#indexer.decoded.get(seq) ?? this.#indexer.decode(this.#journal.text(seq));
  }

  #commit(staging: Staging<T>, search: Search | undefined, resourceVersion: string): void {
    const isFirst = !this.#populated;
    this.#depth = this.#write({ position: resourceVersion, populated: true, quiet: staging.quiet }, () => {
      for (let rest = search; rest !== undefined; ) rest = staging.bury(rest);
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
