import type { Database } from "./database.ts";
import { type Applied, DeltaApplier } from "./delta-applier.ts";
import { FirstList } from "./first-list.ts";
import type { Indexer } from "./indexer.ts";
import { Journal } from "./journal.ts";
import { NewestRows } from "./newest-rows.ts";
import { type Change, type Delta, identityOf, type Key, keyOf, type StoredObject } from "./object.ts";
import type { ListHost, Next, Replacement } from "./replacement.ts";
import { type Sorted, sortDeltas } from "./sort-deltas.ts";
import { StagedList } from "./staged-list.ts";

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
  readonly #applier: DeltaApplier<T>;
  readonly #deltasPerObject: number;
  readonly #quiet: ((stored: T, incoming: T) => boolean) | undefined;
  readonly #proof: ((position: string) => string) | undefined;
  #position: string | undefined;
  #storedPosition: string | undefined;
  #populated: boolean;
  #depth: number;
  /** Keys of the first list, or of a journal found at start, that have not been popped yet. */
  #initial: number;
  #merged = 0;
  #list: Replacement<T> | undefined;
  /** So many objects of a first list are stored and not told yet, behind this key. */
  #untold = 0;
  #told: Key = "";

  /** Drops what an unfinished list left behind. */
  constructor(parts: {
    readonly database: Database;
    readonly resource: string;
    readonly indexer: Indexer<T>;
    /** More pending deltas of one object than this are merged. */
    readonly deltasPerObject: number;
    /** True if the difference is not worth a write or a wake. Asked only for the same uid and equal index values. */
    readonly quiet?: (stored: T, incoming: T) => boolean;
    /** What proves a position, for whoever resumes there: it is stored beside it. */
    readonly proof?: (position: string) => string;
  }) {
    const { database, resource, indexer, deltasPerObject, quiet, proof } = parts;
    this.#database = database;
    this.#indexer = indexer;
    this.#deltasPerObject = deltasPerObject;
    this.#quiet = quiet;
    this.#proof = proof;
    this.#journal = new Journal(database, resource);
    this.#applier = new DeltaApplier({ journal: this.#journal, indexer });
    this.#populated = this.#journal.populated;
    database.transaction(() => this.#discard());
    this.#position = this.#storedPosition = this.#journal.position;
    this.#depth = this.#initial = this.#journal.depth;
  }

  /** From where to resume the watch. */
  get resourceVersion(): string | undefined {
    return this.#position;
  }

  /** As it was stored last, with the position of then. */
  get storedProof(): string | undefined {
    return this.#journal.proof;
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
    const newest = new NewestRows(this.#journal, this.#depth === 0);
    const { loud, quiet } = this.#sorted(deltas, newest);
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
      return;
    }
    const before = newest.keys;
    let merged = 0;
    this.#write({ position: resourceVersion, populated: true, quiet }, () => {
      for (const delta of loud) merged += this.#put(delta, newest);
    });
    this.#depth += newest.keys - before;
    this.#merged += merged;
  }

  /**
   * Applies the deltas at once and tells what changed, where nothing waits in the journal: what `append` and `pop` come
   * to, in one transaction, and no delta is written twice. After a power cut objects and position are both there, and
   * nobody was told, or neither is. Undefined: something waits, so that these have to wait behind it. Nothing was done.
   */
  take(deltas: readonly Delta<T>[], resourceVersion: string): readonly Change<T>[] | undefined {
    if (this.#depth > 0) return undefined;
    const { loud, quiet } = this.#sorted(deltas, new NewestRows(this.#journal, true));
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
      return [];
    }
    return this.#write({ position: resourceVersion, populated: true, quiet }, () =>
      this.#applier.applyHeld(loud, quiet),
    );
  }

  /** A position without news. It waits in memory. */
  bookmark(resourceVersion: string): void {
    this.#position = resourceVersion;
  }

  /** Begins a new list; one that was begun before and not committed is dropped. */
  replace(): Replacement<T> {
    this.#write({}, () => {
      this.#discard();
      this.#journal.stage();
    });
    this.#indexer.show();
    return this.#begun(new StagedList(this.#host));
  }

  /**
   * Begins the first list of a cache that was never filled: it comes to what `replace` comes to, is written once instead of
   * twice, and is told in the order of its keys. Undefined: there was a list or a delta before.
   */
  fill(): Replacement<T> | undefined {
    if (this.#populated) return undefined;
    this.#write({}, () => this.#discard());
    this.#indexer.hide();
    return this.#begun(new FirstList(this.#host));
  }

  /**
   * Queues a Sync for the next `limit` stored objects behind a key ("" before the first) that have no delta waiting, and
   * answers behind which key to go on; undefined: there are no more, or a list is under way, which will tell all.
   */
  resync(behind: Key, limit: number): Key | undefined {
    if (this.#list !== undefined) return undefined;
    const resting = this.#write({}, () => {
      const found = this.#journal.unmentionedAfter(behind, limit);
      for (const { key, uid, version } of found) this.#journal.put(key, "Sync", { uid, version }, null);
      return found;
    });
    this.#depth += resting.length;
    return resting.length < limit ? undefined : resting.at(-1)?.key;
  }

  /**
   * Takes the oldest keys, at most `limit`, with all their deltas. One transaction: objects and index rows are written,
   * the journal rows erased. An empty answer means that nothing waits any more.
   */
  pop(limit: number): readonly Change<T>[] {
    while (this.#depth > 0) {
      const { keys, changes } =
        this.#untold > 0 ? this.#tell(limit) : this.#write({}, () => this.#applier.applyQueued(limit));
      this.#depth -= keys;
      this.#initial = Math.max(0, this.#initial - keys);
      if (changes.length > 0) return changes;
    }
    return [];
  }

  /** Nobody is told of what the first list brought: where nobody listens yet, and whoever will looks at what is stored. */
  leaveUntold(): void {
    this.#depth -= this.#untold;
    this.#initial = Math.max(0, this.#initial - this.#untold);
    this.#untold = 0;
  }

  /** Writes what waits in memory. For a clean stop. */
  flush(): void {
    if (this.#indexer.hasQuiet || this.#position !== this.#storedPosition) this.#write({}, () => undefined);
  }

  /** Stores a better proof of the position, with what waits in memory. */
  prove(): void {
    this.#write({}, () => this.#moveTo(this.#position, this.#populated));
  }

  /** One transaction, in which everything that waits in memory rides along. Memory follows when it has committed. */
  #write<R>(next: Next<T>, work: () => R): R {
    if (this.#database.inTransaction) throw new Error("a DeltaFIFO writes in transactions of its own");
    const { position = this.#position, populated = this.#populated, quiet = new Map<Key, T>() } = next;
    let result: R;
    try {
      result = this.#database.transaction(() => {
        this.#indexer.writeQuiet(quiet);
        if (position !== this.#storedPosition || populated !== this.#populated) this.#moveTo(position, populated);
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

  #moveTo(position: string | undefined, populated: boolean): void {
    this.#journal.moveTo(position, populated, position === undefined ? undefined : this.#proof?.(position));
  }

  /** A list that was not committed ends before. */
  #sorted(deltas: readonly Delta<T>[], newest: NewestRows): Sorted<T> {
    this.#drop();
    return sortDeltas(deltas, {
      indexer: this.#indexer,
      waits: (key) => newest.get(key) !== undefined,
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

  /** Returns how many deltas were merged. Of two deletions in a row the older stays, unless it is a tombstone. */
  #put({ type, object }: Delta<T>, newest: NewestRows): number {
    const key = keyOf(object);
    const last = newest.get(key);
    const identity = identityOf(object);
    const text = JSON.stringify(object);
    const isRepeated = last?.type === "Deleted" && type === "Deleted";
    if (isRepeated && last.bytes !== null) return 0;
    if (isRepeated) this.#journal.overwrite(last.seq, identity, text);
    const seq = isRepeated ? last.seq : this.#journal.put(key, type, identity, text);
    newest.put(key, { seq, type, ...identity, bytes: text.length });
    if (isRepeated) return 0;
    this.#indexer.decoded.put(seq, object, text.length);
    return last !== undefined && this.#journal.count(key) > this.#deltasPerObject ? this.#journal.condense(key) : 0;
  }

  /** What a first list brought is stored already. */
  #tell(limit: number): Applied<T> {
    const stored = this.#indexer.after(this.#told, Math.min(limit, this.#untold));
    const last = stored.at(-1);
    if (last === undefined) throw this.#database.damaged(new Error("objects of the first list are gone"));
    this.#told = last[0];
    this.#untold -= stored.length;
    return { keys: stored.length, changes: stored.map(([key, after]) => ({ key, before: undefined, after })) };
  }

  get #host(): ListHost<T> {
    return {
      journal: this.#journal,
      indexer: this.#indexer,
      isQuiet: (stored, incoming) => this.#isQuiet(stored, incoming),
      write: (next, work) => this.#write(next, work),
      isUnderWay: (list) => this.#list === list,
      commit: (next, untold, work) => this.#commit(next, untold, work),
      drop: () => this.#drop(),
    };
  }

  #begun(list: Replacement<T>): Replacement<T> {
    this.#list = list;
    return list;
  }

  #commit(next: Next<T>, untold: number, work: () => void): void {
    const isFirst = !this.#populated;
    const queued = this.#write({ ...next, populated: true }, () => {
      work();
      return this.#journal.depth;
    });
    this.#list = undefined;
    this.#indexer.show();
    this.#untold += untold;
    this.#depth = this.#untold + queued;
    if (isFirst) this.#initial = this.#depth;
  }

  #drop(): void {
    if (this.#list === undefined) return;
    this.#write({}, () => this.#discard());
    this.#indexer.show();
    this.#list = undefined;
  }

  /** Inside a transaction: of a list that was not committed nothing stays. */
  #discard(): void {
    this.#journal.discard();
    if (!this.#populated) this.#indexer.clear();
  }
}
