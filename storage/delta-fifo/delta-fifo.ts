import type { Database } from "../database/database.ts";
import type { Indexer } from "../indexer/indexer.ts";
import type { ObjectTable } from "../indexer/object-table.ts";
import { type Change, type Delta, type Key, keyOf, type StoredObject } from "../object.ts";
import { DeltaAppender } from "./delta-appender.ts";
import { DeltaApplier } from "./delta-applier.ts";
import { Journal } from "./journal.ts";
import { FirstList, type ListWriter, type Replacement, StagedList } from "./list-replacement.ts";

/**
 * Pending deltas of one resource, on disk. `append` and `replace` queue them in the journal; `pop` applies the oldest
 * to the Indexer and returns the changes; `appendAndPop` does both in one step if nothing is pending.
 *
 * A delta that differs only quietly from the stored state (a heartbeat) justifies neither a write nor a reported
 * change, so its state waits in memory. All other deltas are loud.
 *
 * Three invariants hold after every method, and after a power cut at any line:
 *
 * 1. The stored position is never ahead of the stored deltas and objects: one transaction moves them together. Quiet
 * states and positions without deltas wait in memory for the next transaction; if they are lost, the watch delivers
 * them again.
 * 2. A key is pending while it has journal rows, or while its object of the first list is not reported. Its deltas are
 * applied together and in order, so the changes of one object are reported in the order of its states.
 * 3. A list takes effect as a whole: until its commit readers see the old state, and a list that is not committed
 * leaves nothing behind.
 *
 * Every method that writes is a separate transaction and cannot be called inside another one. `#write` is the only one
 * that opens it: `work` changes a copy of the state, which takes the place of `#state` after the commit. Between two
 * calls:
 *
 * - `position`, `populated` and `queued` of the state are what the file says; they are kept only to save reading it.
 *   While `populated` is false, nothing is pending and no position is stored.
 * - `unreported` > 0 only after a first list. Until it is 0, nothing queued is applied, so the stored keys after
 *   `lastReported` are exactly the unreported ones.
 * - `depth` = `queued` + `unreported`. A key that is both, because it changed before it was reported, counts twice.
 * - `initial` ≤ `depth`: the initial keys are the next ones that `pop` takes, since unreported ones come before queued
 *   ones, and a queued key keeps its place whatever follows.
 * - `#list` is defined while a list is under way: a FirstList while the Indexer hides its objects, a StagedList while
 *   the journal stages new rows. A method that would queue deltas drops the list or refuses.
 */
export class DeltaFIFO<T extends StoredObject> {
  readonly #database: Database;
  readonly #indexer: Indexer<T>;
  readonly #table: ObjectTable<T>;
  readonly #journal: Journal;
  readonly #applier: DeltaApplier<T>;
  readonly #deltasPerObject: number;
  readonly #isQuiet: ((stored: T, incoming: T) => boolean) | undefined;
  readonly #proof: ((position: string) => string) | undefined;
  /** The newest position: the stored one, or a later one that waits for the next transaction. */
  #position: string | undefined;
  #state: Readonly<FifoState>;
  #merged = 0;
  /** The list in progress. */
  #list: ListWriter<T> | undefined;

  /** Drops the rows of an unfinished list. */
  constructor(deps: {
    readonly database: Database;
    readonly resource: string;
    readonly indexer: Indexer<T>;
    /** If an object has more pending deltas than this, they are merged. */
    readonly deltasPerObject: number;
    /**
     * The rule for quiet differences: whether the difference between two states justifies neither a write nor a change
     * event. Called for equal uids; states with different index values are loud in any case. Without it, all are loud.
     */
    readonly isQuiet?: (stored: T, incoming: T) => boolean;
    /** Builds the proof that is stored with a position and checked before a watch resumes there. */
    readonly proof?: (position: string) => string;
  }) {
    const { database, resource, indexer, deltasPerObject, isQuiet, proof } = deps;
    this.#database = database;
    this.#indexer = indexer;
    this.#table = indexer.table;
    this.#deltasPerObject = deltasPerObject;
    this.#isQuiet = isQuiet;
    this.#proof = proof;
    this.#journal = new Journal(database, resource);
    this.#applier = new DeltaApplier({ journal: this.#journal, table: this.#table });
    const { populated, position } = this.#journal;
    database.transaction(() => this.#discard(populated));
    const { depth } = this.#journal;
    this.#position = position;
    this.#state = { position, populated, queued: depth, unreported: 0, lastReported: "", initial: depth };
  }

  /** Where to resume the watch; undefined if nothing has ever been stored. */
  get resourceVersion(): string | undefined {
    return this.#position;
  }

  /** The proof of the stored position; undefined without one. */
  get storedProof(): string | undefined {
    return this.#journal.proof;
  }

  /**
   * True once all keys of the first list have been popped; after a restart with a filled cache, once all keys that were
   * pending at the start have been popped.
   */
  get hasSynced(): boolean {
    return this.#state.populated && this.#state.initial === 0;
  }

  /** The newest state of an object, pending or stored; undefined if it is deleted or has never been received. */
  newest(key: Key): T | undefined {
    const row = this.#state.queued === 0 ? undefined : this.#journal.newest(key);
    if (row?.type === "Deleted") return undefined;
    if (row === undefined || !row.hasObject) return this.#indexer.get(key);
    return this.#applier.objectOf(key, row);
  }

  /** The length of the newest state of an object as JSON, in bytes; 0 if there is none. Decodes nothing. */
  bytes(key: Key): number {
    const row = this.#state.queued === 0 ? undefined : this.#journal.newest(key);
    if (row?.type === "Deleted") return 0;
    return row?.hasObject ? row.bytes : this.#indexer.table.bytes(key);
  }

  /** The number of pending keys. */
  get depth(): number {
    return depthOf(this.#state);
  }

  /** The number of deltas merged into newer ones since the start. */
  get merged(): number {
    return this.#merged;
  }

  /**
   * Stores the deltas and the watch position together: after a power cut, either both are there or neither is. If all
   * deltas are quiet, both wait in memory. Deletions of unknown objects are ignored. Drops a list that was not
   * committed.
   */
  append(deltas: readonly Delta<T>[], resourceVersion: string): void {
    if (this.#list !== undefined) this.#dropList();
    const appender = new DeltaAppender({
      journal: this.#journal,
      table: this.#table,
      deltasPerObject: this.#deltasPerObject,
      isEmpty: this.#state.queued === 0,
    });
    const { loud, quiet } = this.#divided(deltas, (key) => appender.isQueued(key));
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
      return;
    }
    this.#write(quiet, (next) => {
      for (const delta of loud) appender.append(delta);
      next.position = resourceVersion;
      next.populated = true;
      next.queued += appender.keys;
    });
    this.#merged += appender.merged;
  }

  /**
   * If nothing is pending in the journal, applies the deltas immediately and returns the changes. The result is the
   * same as that of `append` and `pop`, but in one transaction and without writing a delta twice: after a power cut,
   * either both the objects and the position are there, with the changes perhaps unreported, or neither is. Returns
   * undefined and stores nothing if deltas are pending, which must be applied first, or if the objects concerned are
   * too large together. Drops a list that was not committed, unless deltas are pending.
   */
  appendAndPop(deltas: readonly Delta<T>[], resourceVersion: string): readonly Change<T>[] | undefined {
    if (this.depth > 0) return undefined;
    if (this.#list !== undefined) this.#dropList();
    const { loud, quiet } = this.#divided(deltas, () => false);
    if (this.#applier.isHeavy(loud)) return undefined;
    if (this.#waitsInMemory(deltas, loud)) {
      this.#keep(quiet, resourceVersion);
      return [];
    }
    return this.#write(quiet, (next) => {
      next.position = resourceVersion;
      next.populated = true;
      return this.#applier.applyInMemory(loud, quiet);
    });
  }

  /** Records a position without deltas. It waits in memory. */
  bookmark(resourceVersion: string): void {
    this.#position = resourceVersion;
  }

  /** Begins a new list; drops an earlier one that was not committed. */
  replace(): Replacement<T> {
    this.#dropList(() => this.#journal.stage());
    const isQuietUpdate = (stored: T, incoming: T): boolean => this.#isQuietUpdate(stored, incoming);
    return this.#begin(new StagedList({ journal: this.#journal, table: this.#table, isQuietUpdate }));
  }

  /**
   * Begins the first list of a cache that has never been filled. The effect is that of `replace`, but each object is
   * written once instead of twice, and changes are reported in key order. Returns undefined if there has already been a
   * list or a delta.
   */
  fill(): Replacement<T> | undefined {
    if (this.#state.populated) return undefined;
    this.#dropList();
    this.#indexer.hide();
    return this.#begin(new FirstList(this.#table));
  }

  /**
   * Queues a Sync for the next `limit` stored objects after a key ("" for the first) without a pending delta. Returns
   * the key after which to continue; undefined if there are no more, or if a list is in progress, which will report
   * everything.
   */
  resync(after: Key, limit: number): Key | undefined {
    if (this.#list !== undefined) return undefined;
    const queued = this.#write(nothingQuiet, (next) => {
      const found = this.#journal.unmentionedAfter(after, limit);
      for (const { key, uid, version } of found) this.#journal.put(key, "Sync", { uid, version }, null);
      next.queued += found.length;
      return found;
    });
    return queued.length < limit ? undefined : queued.at(-1)?.key;
  }

  /**
   * Takes the oldest keys, at most `limit`, with all their deltas. One transaction writes the objects and index rows,
   * and erases the journal rows. Returns the changes; if there are none, nothing is pending.
   */
  pop(limit: number): readonly Change<T>[] {
    while (this.depth > 0) {
      const changes = this.#state.unreported > 0 ? this.#reportStored(limit) : this.#applyQueued(limit);
      if (changes.length > 0) return changes;
    }
    return [];
  }

  /**
   * Marks the first list as reported, for a resource without listeners, because listeners that join later read the
   * stored objects.
   */
  skipReport(): void {
    const { initial, unreported } = this.#state;
    this.#state = { ...this.#state, unreported: 0, initial: Math.max(0, initial - unreported) };
  }

  /** Frees memory: drops decoded objects, which are decoded again when they are read. */
  dropDecoded(): void {
    this.#table.dropDecoded();
  }

  /** Writes the states and the position that wait in memory; for a clean stop. */
  flush(): void {
    if (this.#table.hasQuiet || this.#position !== this.#state.position) this.#write(nothingQuiet, () => undefined);
  }

  /** Stores the current proof of the position, with everything that waits in memory. */
  prove(): void {
    this.#write(nothingQuiet, (next) => this.#moveTo(next));
  }

  /**
   * Divides a group into loud deltas, in order of arrival, and the quiet states that precede them, of which only the
   * newest of each key is kept. After a key's first loud delta, all its deltas count as loud. Drops deletions of
   * objects that are neither stored nor pending.
   */
  #divided(deltas: readonly Delta<T>[], isQueued: (key: Key) => boolean): DividedDeltas<T> {
    const loud: Delta<T>[] = [];
    const keys = new Set<Key>();
    const quiet = new Map<Key, T>();
    for (const delta of deltas) {
      const key = keyOf(delta.object);
      const isFollowed = keys.has(key) || isQueued(key);
      if (delta.type === "Deleted") {
        if (!isFollowed && this.#table.identity(key) === undefined) continue;
      } else if (!isFollowed && this.#isQuiet !== undefined) {
        const stored = quiet.get(key) ?? this.#table.get(key);
        if (stored !== undefined && this.#isQuietUpdate(stored, delta.object)) {
          quiet.set(key, delta.object);
          continue;
        }
      }
      loud.push(delta);
      keys.add(key);
    }
    return { loud, quiet };
  }

  #isQuietUpdate(stored: T, incoming: T): boolean {
    return (
      this.#isQuiet !== undefined &&
      stored.metadata.uid === incoming.metadata.uid &&
      this.#isQuiet(stored, incoming) &&
      this.#table.haveSameIndexValues(stored, incoming)
    );
  }

  /** The very first delta is written even if it has no effect, so that the resource counts as populated. */
  #waitsInMemory(deltas: readonly Delta<T>[], loud: readonly Delta<T>[]): boolean {
    return loud.length === 0 && (this.#state.populated || deltas.length === 0);
  }

  #keep(quiet: ReadonlyMap<Key, T>, resourceVersion: string): void {
    this.#table.keepQuiet(quiet);
    this.#position = resourceVersion;
  }

  /** Reports the next objects of the first list, which are already stored. */
  #reportStored(limit: number): readonly Change<T>[] {
    const { lastReported, unreported, initial } = this.#state;
    const stored = this.#table.after(lastReported, Math.min(limit, unreported));
    const last = stored.at(-1);
    if (last === undefined) throw this.#database.damaged(new Error("stored objects of the first list are missing"));
    this.#state = {
      ...this.#state,
      lastReported: last[0],
      unreported: unreported - stored.length,
      initial: Math.max(0, initial - stored.length),
    };
    return stored.map(([key, after]) => ({ key, before: undefined, after }));
  }

  #applyQueued(limit: number): readonly Change<T>[] {
    return this.#write(nothingQuiet, (next) => {
      const { keys, changes } = this.#applier.applyQueued(limit);
      next.queued -= keys;
      next.initial = Math.max(0, next.initial - keys);
      return changes;
    });
  }

  #begin(list: ListWriter<T>): Replacement<T> {
    this.#list = list;
    const write = <R>(work: (next: FifoState) => R, quiet: ReadonlyMap<Key, T> = nothingQuiet): R => {
      if (this.#list !== list) throw new Error("this list has ended");
      try {
        return this.#write(quiet, work);
      } catch (error) {
        list.rolledBack();
        throw error;
      }
    };
    return {
      page: (objects) => write(() => list.page(objects)),
      stageDeletions: () => write(() => list.stageDeletions()),
      commit: (position) => {
        write((next) => {
          list.commit();
          const isFirst = !next.populated;
          next.position = position;
          next.populated = true;
          next.queued = this.#journal.depth;
          if (list.bypassesQueue) next.unreported = this.#table.size;
          if (isFirst) next.initial = depthOf(next);
        }, list.quiet);
        this.#list = undefined;
        this.#indexer.show();
      },
      abort: () => {
        if (this.#list === list) this.#dropList();
      },
    };
  }

  /**
   * Ends the list in progress, if there is one, and runs `begin` in the transaction that removes its traces. Shows the
   * objects again, which a first list had hidden.
   */
  #dropList(begin: () => void = () => {}): void {
    this.#write(nothingQuiet, ({ populated }) => {
      this.#discard(populated);
      begin();
    });
    this.#list = undefined;
    this.#indexer.show();
  }

  /** Removes all traces of a list that was not committed; called inside a transaction. */
  #discard(populated: boolean): void {
    this.#journal.discard();
    if (!populated) this.#table.clear();
  }

  /** One transaction, which also writes the given quiet states and everything that waits in memory. */
  #write<R>(quiet: ReadonlyMap<Key, T>, work: (next: FifoState) => R): R {
    if (this.#database.inTransaction) throw new Error("a DeltaFIFO writes in its own transactions");
    const next = { ...this.#state, position: this.#position };
    let result: R;
    try {
      result = this.#database.transaction(() => {
        this.#table.writeQuiet(quiet);
        const done = work(next);
        const { position, populated } = this.#state;
        if (next.position !== position || next.populated !== populated) this.#moveTo(next);
        return done;
      });
    } catch (error) {
      this.#table.dropCaches();
      throw error;
    }
    this.#table.quietWritten(quiet);
    this.#state = next;
    this.#position = next.position;
    return result;
  }

  #moveTo({ position, populated }: Readonly<FifoState>): void {
    this.#journal.moveTo(position, populated, position === undefined ? undefined : this.#proof?.(position));
  }
}

/** A group of deltas, divided into those that need a write and those that do not. */
interface DividedDeltas<T> {
  readonly loud: readonly Delta<T>[];
  readonly quiet: ReadonlyMap<Key, T>;
}

/** What the file says of the queue, and how much of it has been reported. */
interface FifoState {
  position: string | undefined;
  /** Whether there has ever been a delta or a whole list. */
  populated: boolean;
  /** Number of keys with rows in the queue. */
  queued: number;
  /** Number of objects of the first list that are stored but not yet reported: those after the key `lastReported`. */
  unreported: number;
  lastReported: Key;
  /** Number of keys of the first list, or of a journal found at start, that have not been popped yet. */
  initial: number;
}

const depthOf = ({ queued, unreported }: Readonly<FifoState>): number => queued + unreported;

const nothingQuiet: ReadonlyMap<Key, never> = new Map<Key, never>();
