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
 * Pending deltas of one resource, on disk. `append` and `replace` store them together with the watch position; `pop`
 * applies them to the Indexer and returns the changes; `take` does both at once when nothing is pending. After a power
 * cut at any line, position, journal and objects are consistent.
 *
 * Two things wait in memory until the resource is written anyway: states that differ only in what `quiet` allows, and
 * the position. One transaction writes both, so a stored position is never ahead of the stored objects; losing both
 * only means that the watch delivers them again.
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
  /** Number of objects of a first list that are stored but not reported yet: those after the key `#told`. */
  #untold = 0;
  #told: Key = "";

  /** Drops the rows of an unfinished list. */
  constructor(parts: {
    readonly database: Database;
    readonly resource: string;
    readonly indexer: Indexer<T>;
    /** More pending deltas of one object than this are merged. */
    readonly deltasPerObject: number;
    /** True if the difference is not worth a write or a wake. Called only for equal uids and index values. */
    readonly quiet?: (stored: T, incoming: T) => boolean;
    /** Evidence stored beside the position, for checking it when the watch resumes there. */
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

  /** Where to resume the watch. */
  get resourceVersion(): string | undefined {
    return this.#position;
  }

  /** The proof as last stored, belonging to the position stored with it. */
  get storedProof(): string | undefined {
    return this.#journal.proof;
  }

  /** The first list has been popped; after a restart: there was one, and everything pending then has been popped. */
  get hasSynced(): boolean {
    return this.#populated && this.#initial === 0;
  }

  /** The number of pending keys. */
  get depth(): number {
    return this.#depth;
  }

  /** The number of deltas merged into newer ones since the start. */
  get merged(): number {
    return this.#merged;
  }

  /**
   * Stores the deltas and the watch position together: after a power cut both are there or neither is. If all deltas
   * are quiet, both wait in memory. Deletions of unknown objects are ignored. Drops a Replace that was not committed.
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
   * Applies the deltas at once and returns the changes, if nothing is pending in the journal. Same result as `append`
   * and `pop`, in one transaction and without writing a delta twice: after a power cut objects and position are both
   * there, with the changes perhaps unreported, or neither is. Undefined: deltas are pending that must come first;
   * nothing was done.
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

  /** Records a position that brought no deltas. It waits in memory. */
  bookmark(resourceVersion: string): void {
    this.#position = resourceVersion;
  }

  /** Begins a new list; drops an earlier one that was not committed. */
  replace(): Replacement<T> {
    this.#write({}, () => {
      this.#discard();
      this.#journal.stage();
    });
    this.#indexer.show();
    return this.#begun(new StagedList(this.#host));
  }

  /**
   * Begins the first list of a cache that was never filled. The result is that of `replace`, but each object is written
   * once instead of twice, and changes are reported in key order. Undefined if there was a list or a delta before.
   */
  fill(): Replacement<T> | undefined {
    if (this.#populated) return undefined;
    this.#write({}, () => this.#discard());
    this.#indexer.hide();
    return this.#begun(new FirstList(this.#host));
  }

  /**
   * Queues a Sync for the next `limit` stored objects after a key ("" for the first) that have no delta pending.
   * Returns the key after which to continue; undefined if there are no more, or if a list is under way, which will
   * report everything.
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
   * the journal rows erased. An empty result means that nothing is pending.
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

  /**
   * Marks the first list as reported: for resources without listeners, whose later listeners read the stored objects.
   */
  leaveUntold(): void {
    this.#depth -= this.#untold;
    this.#initial = Math.max(0, this.#initial - this.#untold);
    this.#untold = 0;
  }

  /** Writes the states and the position that wait in memory. For a clean stop. */
  flush(): void {
    if (this.#indexer.hasQuiet || this.#position !== this.#storedPosition) this.#write({}, () => undefined);
  }

  /** Stores a better proof of the position, with everything that waits in memory. */
  prove(): void {
    this.#write({}, () => this.#moveTo(this.#position, this.#populated));
  }

  /**
   * One transaction, which also writes everything that waits in memory. Fields in memory change only after the commit.
   */
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

  /** Drops a list that was not committed, then sorts. */
  #sorted(deltas: readonly Delta<T>[], newest: NewestRows): Sorted<T> {
    this.#drop();
    return sortDeltas(deltas, {
      indexer: this.#indexer,
      waits: (key) => newest.get(key) !== undefined,
      isQuiet: this.#quiet && ((stored, incoming) => this.#isQuiet(stored, incoming)),
    });
  }

  /** The very first delta is written even if it has no effect: from then on the resource counts as populated. */
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

  /** Returns how many deltas were merged. Of two deletions in a row the older is kept, unless it is a tombstone. */
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

  /** Reports objects of a first list, which are stored already. */
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

  /** Inside a transaction: removes everything of a list that was not committed. */
  #discard(): void {
    this.#journal.discard();
    if (!this.#populated) this.#indexer.clear();
  }
}
