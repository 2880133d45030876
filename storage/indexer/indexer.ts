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

/** Number of keys read at a time. The objects are then fetched one by one, so that only one of them is on the heap. */
const page = 64;

/** The read side of one resource's objects. They are shared and must not be changed. */
export interface IndexReader<T> {
  get(key: Key): T | undefined;
  /** All objects in key order. A change made during the walk is visible if the walk has not reached its key yet. */
  list(): IterableIterator<T>;
  /** The objects with the value, in key order. Objects that lose the value during the walk are skipped. */
  byIndex(index: string, value: string): IterableIterator<T>;
  /**
   * The identities of the objects with the value, in key order; decodes no object. Each object had the value in the
   * returned version.
   */
  referencesByIndex(index: string, value: string): IterableIterator<StoredObject>;
  /** The values that at least one object has, in order. Decodes no object. */
  indexValues(index: string): IterableIterator<string>;
  /** The number of objects with the value. Decodes no object. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/**
 * The objects of one resource in SQLite, with named indices. The DeltaFIFO is the only writer; methods that write are
 * called inside its transactions.
 *
 * While the first list is stored, `hide` lets the methods of IndexReader answer as if there were no objects. All others
 * ignore it: they serve the DeltaFIFO, which decides by the rows in the table. A list that names a key twice replaces
 * the hidden row, and `clear` removes the hidden rows of a list that was not committed.
 */
export class Indexer<T extends StoredObject> implements IndexReader<T> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #parse: (text: string) => unknown;
  readonly #rows: IndexRows<T>;
  /** Decoded objects: stored ones by key, pending ones by the seq of their journal row. */
  readonly decoded: DecodeCache<Key | number, T>;
  /** States that readers see, but that are not written yet. */
  readonly quiet: QuietStates<T>;
  /** The number of stored objects; undefined if it must be counted again. */
  #size: number | undefined;
  #isHidden = false;

  /** Drops and fills stored indices if `indices` has changed since the file was last open. */
  constructor(deps: {
    readonly database: Database;
    readonly resource: string;
    readonly indices: IndexFunctions<T>;
    readonly decodedBytes: number;
    /** Parses stored JSON. */
    readonly parse?: (text: string) => unknown;
  }) {
    const { database, resource, indices, decodedBytes, parse = JSON.parse } = deps;
    this.#parse = parse;
    this.#database = database;
    this.#resource = resourceId(database, resource);
    this.decoded = new DecodeCache(decodedBytes);
    this.quiet = new QuietStates({ database, resource: this.#resource, decoded: this.decoded });
    this.#rows = new IndexRows(database, this.#resource);
    this.#rows.reconcile(indices, () => this.#entries());
  }

  get(key: Key): T | undefined {
    return this.#isHidden ? undefined : this.#get(key);
  }

  *list(): IterableIterator<T> {
    for (const [, object] of this.#entries()) yield object;
  }

  *byIndex(name: string, value: string): IterableIterator<T> {
    for (const keys of this.#keysByIndex(name, value)) {
      for (const key of keys) {
        const object = this.get(key);
        if (object !== undefined && this.#rows.has(name, value, object)) yield object;
      }
    }
  }

  *referencesByIndex(name: string, value: string): IterableIterator<StoredObject> {
    for (const keys of this.#keysByIndex(name, value)) {
      yield* keys.flatMap((key) => {
        const identity = this.identity(key);
        return identity === undefined ? [] : [referenceTo(key, identity)];
      });
    }
  }

  *indexValues(name: string): IterableIterator<string> {
    if (!this.#isHidden) yield* this.#rows.values(name);
  }

  countByIndex(name: string, value: string): number {
    return this.#isHidden ? 0 : this.#rows.count(name, value);
  }

  get size(): number {
    if (this.#isHidden) return 0;
    this.#size ??= this.#database
      .prepare<{ count: number }>("SELECT count(*) AS count FROM objects WHERE resource = ?")
      .get(this.#resource)?.count;
    return this.#size ?? 0;
  }

  // The methods below are for the DeltaFIFO, and ignore `hide`.

  identity(key: Key): Identity | undefined {
    const quiet = this.quiet.get(key);
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

  /** Hides all objects from the methods of IndexReader until `show`. */
  hide(): void {
    this.#isHidden = true;
  }

  show(): void {
    this.#isHidden = false;
    this.#size = undefined;
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
    this.decoded.put(key, after, text.length);
  }

  /**
   * Like `replace`, for many objects of which few are already stored; does not cache the decoded object. Only used while
   * objects are hidden; `show` causes a recount.
   */
  insertHidden(key: Key, object: T): void {
    const { uid, version } = identityOf(object);
    const inserted = this.#database
      .prepare("INSERT OR IGNORE INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)")
      .run(this.#resource, key, uid, version, JSON.stringify(object));
    if (inserted > 0) this.#rows.write(key, undefined, object);
    else this.replace(key, this.#get(key), object);
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
    this.decoded.put(key, after, row.bytes);
  }

  remove(key: Key, before: T): void {
    this.#size = undefined;
    this.#database.prepare("DELETE FROM objects WHERE resource = ? AND key = ?").run(this.#resource, key);
    this.#rows.write(key, before, undefined);
    this.decoded.delete(key);
  }

  /** Removes all objects. */
  clear(): void {
    this.#size = undefined;
    const deleted = this.#database.prepare("DELETE FROM objects WHERE resource = ?").run(this.#resource);
    if (deleted > 0) this.#rows.clear();
    this.decoded.clear();
  }

  /** After a failed transaction, empties the cache, which may contain states that were rolled back. */
  dropCaches(): void {
    this.#size = undefined;
    this.decoded.clear();
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

  /** The keys with the value, a page at a time. */
  *#keysByIndex(name: string, value: string): IterableIterator<readonly Key[]> {
    let after = "";
    while (!this.#isHidden) {
      const keys = this.#rows.keys(name, value, after, page);
      yield keys;
      const last = keys.at(-1);
      if (last === undefined || keys.length < page) return;
      after = last;
    }
  }

  *#entries(): IterableIterator<readonly [Key, T]> {
    let after = "";
    while (!this.#isHidden) {
      const rows = this.#database
        .prepare<{ key: Key }>("SELECT key FROM objects WHERE resource = ? AND key > ? ORDER BY key LIMIT ?")
        .all(this.#resource, after, page);
      for (const { key } of rows) {
        const object = this.#peek(key);
        if (object !== undefined) yield [key, object];
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < page) return;
      after = last.key;
    }
  }

  #get(key: Key): T | undefined {
    return this.quiet.get(key) ?? this.decoded.get(key) ?? this.#read(key, { keep: true });
  }

  /** Like `#get`, but leaves the cache unchanged; for walks over all objects. */
  #peek(key: Key): T | undefined {
    return this.quiet.get(key) ?? this.decoded.peek(key) ?? this.#read(key, { keep: false });
  }

  #read(key: Key, { keep }: { readonly keep: boolean }): T | undefined {
    const row = this.#database
      .prepare<Identity & { text: string }>("SELECT text, uid, version FROM objects WHERE resource = ? AND key = ?")
      .get(this.#resource, key);
    if (row === undefined) return;
    const object = this.decode(row.text, key, row);
    if (keep) this.decoded.put(key, object, row.text.length);
    return object;
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
