import type { Database } from "../database/database.ts";
import {
  type Identity,
  type IndexFunctions,
  identityOf,
  isSame,
  type Key,
  keyOf,
  referenceTo,
  type StoredObject,
} from "../object.ts";
import { resourceId } from "../resource-id.ts";
import { DecodeCache } from "./decode-cache.ts";
import { IndexRows } from "./index-rows.ts";
import { QuietStates } from "./quiet-states.ts";
import { maxBytes, upTo } from "./up-to.ts";

export interface ObjectTableDeps<T> {
  readonly database: Database;
  readonly resource: string;
  readonly indices: IndexFunctions<T>;
  readonly decodedBytes: number;
  /** Parses stored JSON. */
  readonly parse?: (text: string) => unknown;
}

/**
 * The objects of one resource in SQLite, with named indices. The DeltaFIFO is the only writer; methods that write are
 * called inside its transactions. Readers get it as an `Indexer`.
 *
 * An object is read from the first of three places that has it: the quiet states, the decoded objects, its row. That
 * place has the newest state, because a write to the row also replaces the decoded object, and `keepQuiet` drops the
 * decoded object.
 */
export class ObjectTable<T extends StoredObject> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #parse: (text: string) => unknown;
  readonly #rows: IndexRows<T>;
  /** Stored objects by key, and pending ones by the seq of their journal row, because they share one budget. */
  readonly #decoded: DecodeCache<Key | number, T>;
  /** States that readers see, but that are not written yet. */
  readonly #quiet: QuietStates<T>;
  /** The number of stored objects; undefined if it must be counted again. */
  #size: number | undefined;

  /** Reconciles the stored indices with `indices` by name (see `IndexRows`). */
  constructor({ database, resource, indices, decodedBytes, parse = JSON.parse }: ObjectTableDeps<T>) {
    this.#parse = parse;
    this.#database = database;
    this.#resource = resourceId(database, resource);
    this.#decoded = new DecodeCache(decodedBytes);
    this.#quiet = new QuietStates({ database, resource: this.#resource, decoded: this.#decoded });
    this.#rows = new IndexRows(database, this.#resource);
    this.#rows.reconcile(indices, () => this.#entries());
  }

  // The methods of IndexReader, which documents them.

  get(key: Key): T | undefined {
    return this.#quiet.get(key) ?? this.#decoded.get(key) ?? this.#read(key, { keep: true });
  }

  *list(): IterableIterator<T> {
    for (const [, object] of this.#entries()) yield object;
  }

  *byIndex(index: string, value: string): IterableIterator<T> {
    for (const keys of this.#keysByIndex(index, value)) {
      for (const key of keys) {
        const object = this.get(key);
        if (object !== undefined && this.#rows.has(index, value, object)) yield object;
      }
    }
  }

  *referencesByIndex(index: string, value: string): IterableIterator<StoredObject> {
    for (const keys of this.#keysByIndex(index, value)) {
      yield* keys.flatMap((key) => {
        const identity = this.identity(key);
        return identity === undefined ? [] : [referenceTo(key, identity)];
      });
    }
  }

  indexValues(index: string): IterableIterator<string> {
    return this.#rows.values(index);
  }

  countByIndex(index: string, value: string): number {
    return this.#rows.count(index, value);
  }

  get size(): number {
    this.#size ??= this.#database
      .prepare<{ count: number }>("SELECT count(*) AS count FROM objects WHERE resource = ?")
      .get(this.#resource)?.count;
    return this.#size ?? 0;
  }

  identity(key: Key): Identity | undefined {
    const quiet = this.#quiet.get(key);
    if (quiet !== undefined) return identityOf(quiet);
    return this.#database
      .prepare<Identity>("SELECT uid, version FROM objects WHERE resource = ? AND key = ?")
      .get(this.#resource, key);
  }

  /** The length of the stored JSON of an object; 0 if there is none. */
  bytes(key: Key): number {
    return (
      this.#database
        .prepare<{ bytes: number }>("SELECT octet_length(text) AS bytes FROM objects WHERE resource = ? AND key = ?")
        .get(this.#resource, key)?.bytes ?? 0
    );
  }

  /**
   * The next objects after a key ("" for the first): at most `limit`, fewer if they are large, but at
   * least one.
   */
  after(key: Key, limit: number): readonly (readonly [Key, T])[] {
    const rows = this.#database
      .prepare<{ key: Key; bytes: number }>(
        "SELECT key, octet_length(text) AS bytes FROM objects WHERE resource = ? AND key > ? ORDER BY key LIMIT ?",
      )
      .all(this.#resource, key, limit);
    return upTo(maxBytes, rows, ({ bytes }) => bytes).flatMap((row) => {
      const object = this.#peek(row.key);
      return object === undefined ? [] : [[row.key, object] as const];
    });
  }

  /** Whether every index has the same values for both objects. */
  haveSameIndexValues(a: T, b: T): boolean {
    return this.#rows.haveSameValues(a, b);
  }

  /** Stores `after` in place of `before`; `before` is undefined if the key is not stored. */
  replace(key: Key, before: T | undefined, after: T): void {
    if (before === undefined) this.#size = undefined;
    const { uid, version } = identityOf(after);
    const text = JSON.stringify(after);
    this.#database
      .prepare(
        `INSERT INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (resource, key) DO UPDATE
         SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
      )
      .run(this.#resource, key, uid, version, text);
    this.#rows.write(key, before, after);
    this.#decoded.put(key, after, text.length);
  }

  /** Like `replace`, but for a state whose JSON is in the journal row `seq`, from which SQLite copies it. */
  replaceFromJournal(
    key: Key,
    before: T | undefined,
    after: T,
    row: { readonly seq: number; readonly bytes: number },
  ): void {
    if (before === undefined) this.#size = undefined;
    // This way, the JSON never becomes a JavaScript string.
    this.#database
      .prepare(
        `INSERT INTO objects (resource, key, uid, version, text)
         SELECT resource, key, uid, version, text FROM journal WHERE seq = ?
         ON CONFLICT (resource, key) DO UPDATE
         SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
      )
      .run(row.seq);
    this.#rows.write(key, before, after);
    this.#decoded.put(key, after, row.bytes);
  }

  /** Like `replace`, for many objects of which few are already stored; does not cache the decoded object. */
  insert(key: Key, object: T): void {
    this.#size = undefined;
    const { uid, version } = identityOf(object);
    const inserted = this.#database
      .prepare("INSERT OR IGNORE INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)")
      .run(this.#resource, key, uid, version, JSON.stringify(object));
    if (inserted > 0) this.#rows.write(key, undefined, object);
    else this.replace(key, this.get(key), object);
  }

  remove(key: Key, before: T): void {
    this.#size = undefined;
    this.#database.prepare("DELETE FROM objects WHERE resource = ? AND key = ?").run(this.#resource, key);
    this.#rows.write(key, before, undefined);
    this.#decoded.delete(key);
  }

  /** Removes all objects. */
  clear(): void {
    this.#size = undefined;
    const deleted = this.#database.prepare("DELETE FROM objects WHERE resource = ?").run(this.#resource);
    if (deleted > 0) this.#rows.clear();
    this.#decoded.clear();
  }

  /** Whether there are quiet states that are not written yet. */
  get hasQuiet(): boolean {
    return !this.#quiet.isEmpty;
  }

  /** Makes these quiet states visible to readers without writing them. */
  keepQuiet(states: ReadonlyMap<Key, T>): void {
    this.#quiet.keep(states);
  }

  /** Writes all quiet states, and those in `more`. Call `quietWritten` after the commit. */
  writeQuiet(more: ReadonlyMap<Key, T>): void {
    this.#quiet.writeAll(more);
  }

  quietWritten(more: ReadonlyMap<Key, T>): void {
    this.#quiet.clearWritten(more);
  }

  /** The object of the journal row `seq`, if it is still decoded. */
  decodedPending(seq: number): T | undefined {
    return this.#decoded.get(seq);
  }

  /** Keeps the object of the journal row `seq` decoded, if the budget allows. */
  keepPending(seq: number, object: T, textLength: number): void {
    this.#decoded.put(seq, object, textLength);
  }

  dropPending(seq: number): void {
    this.#decoded.delete(seq);
  }

  /** Frees memory: drops decoded objects, which are decoded again when they are read. */
  dropDecoded(): void {
    this.#decoded.clear();
  }

  /** Invalidates the caches after a failed transaction, because they may reflect writes that were rolled back. */
  dropCaches(): void {
    this.#size = undefined;
    this.#decoded.clear();
  }

  /** Decodes stored JSON and checks that it has this key and the row's uid and version. */
  decode(text: string, key: Key, row: Identity): T {
    let object: unknown;
    try {
      object = this.#parse(text);
    } catch (error) {
      throw this.#database.damaged(error);
    }
    if (!hasName(object) || keyOf(object) !== key || !isSame(identityOf(object), row)) {
      throw this.#database.damaged(
        new Error(`the JSON stored as ${key} belongs to a different object or version than its row`),
      );
    }
    return object as T;
  }

  *#entries(): IterableIterator<readonly [Key, T]> {
    for (const keys of pages((after) => this.#keysAfter(after))) {
      for (const key of keys) {
        const object = this.#peek(key);
        if (object !== undefined) yield [key, object];
      }
    }
  }

  #keysAfter(after: Key): readonly Key[] {
    return this.#database
      .prepare<{ key: Key }>("SELECT key FROM objects WHERE resource = ? AND key > ? ORDER BY key LIMIT ?")
      .all(this.#resource, after, page)
      .map(({ key }) => key);
  }

  /** The keys with the value, a page at a time. */
  #keysByIndex(index: string, value: string): IterableIterator<readonly Key[]> {
    return pages((after) => this.#rows.keys(index, value, after, page));
  }

  /** Like `get`, but leaves the cache unchanged; for walks over all objects. */
  #peek(key: Key): T | undefined {
    return this.#quiet.get(key) ?? this.#decoded.peek(key) ?? this.#read(key, { keep: false });
  }

  #read(key: Key, { keep }: { readonly keep: boolean }): T | undefined {
    const row = this.#database
      .prepare<Identity & { text: string }>("SELECT text, uid, version FROM objects WHERE resource = ? AND key = ?")
      .get(this.#resource, key);
    if (row === undefined) return;
    const object = this.decode(row.text, key, row);
    if (keep) this.#decoded.put(key, object, row.text.length);
    return object;
  }
}

/** Number of keys read at a time. The objects are then fetched one by one, so that only one of them is on the heap. */
const page = 64;

/**
 * All keys in order, a page at a time; `keysAfter` reads the page after a key. No statement stays open between pages.
 */
function* pages(keysAfter: (key: Key) => readonly Key[]): IterableIterator<readonly Key[]> {
  let last: Key | undefined = "";
  while (last !== undefined) {
    const keys = keysAfter(last);
    yield keys;
    last = keys.length < page ? undefined : keys.at(-1);
  }
}

/**
 * Whether a value has a name, without which it has no key. Its other fields are checked by the code that fetched it.
 */
function hasName(value: unknown): value is StoredObject {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return false;
  const { metadata } = value;
  return typeof metadata === "object" && metadata !== null && "name" in metadata && typeof metadata.name === "string";
}
