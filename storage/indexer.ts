import type { Database } from "./database.ts";
import { DecodeCache } from "./decode-cache.ts";
import { IndexRows } from "./index-rows.ts";
import {
  type Identity,
  type IndexFunctions,
  identityOf,
  isSame,
  type Key,
  keyOf,
  type StoredObject,
} from "./object.ts";
import { resourceId } from "./resource-id.ts";
import type { Statement } from "./statement.ts";

/** Keys read at once. Objects are then fetched one by one, so that only one at a time is on the heap. */
const page = 64;

/**
 * The objects of one resource, with named indices. Readers use `get`, `list`, `byIndex`, `indexValues`, `countByIndex`
 * and `size`; the rest is for the DeltaFIFO, the only writer, inside its transactions.
 *
 * Returned objects are shared and must not be changed.
 */
export class Indexer<T extends StoredObject> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #rows: IndexRows<T>;
  /** Stored objects by key; pending ones also by seq, so that applying them needs no decoding. */
  readonly decoded: DecodeCache<Key | number, T>;
  /** The newest states that were not worth a write; each replaces a stored object of the same uid. */
  readonly #quiet = new Map<Key, T>();
  #size: number | undefined;
  #isHidden = false;
  readonly #stored: Statement<Identity & { text: string }>;
  readonly #identity: Statement<Identity>;
  readonly #keys: Statement<{ key: Key }>;
  readonly #count: Statement<{ count: number }>;
  readonly #update: Statement<unknown>;
  readonly #put: Statement<unknown>;
  readonly #add: Statement<unknown>;
  readonly #adopt: Statement<unknown>;
  readonly #delete: Statement<unknown>;
  readonly #clear: Statement<unknown>;

  /** Fills indices that were added since the file was last open. */
  constructor(parts: {
    readonly database: Database;
    readonly resource: string;
    readonly indices: IndexFunctions<T>;
    readonly decodedBytes: number;
  }) {
    const { database, resource, indices, decodedBytes } = parts;
    this.#database = database;
    this.#resource = resourceId(database, resource);
    this.decoded = new DecodeCache(decodedBytes);
    this.#stored = database.prepare("SELECT text, uid, version FROM objects WHERE resource = ? AND key = ?");
    this.#identity = database.prepare("SELECT uid, version FROM objects WHERE resource = ? AND key = ?");
    this.#keys = database.prepare(`SELECT key FROM objects WHERE resource = ? AND key > ? ORDER BY key LIMIT ?`);
    this.#count = database.prepare("SELECT count(*) AS count FROM objects WHERE resource = ?");
    this.#update = database.prepare("UPDATE objects SET version = ?, text = ? WHERE resource = ? AND key = ?");
    this.#put = database.prepare(
      `INSERT INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (resource, key) DO UPDATE
       SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
    );
    this.#add = database.prepare(
      "INSERT OR IGNORE INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)",
    );
    // The text is copied from table to table and never becomes a JavaScript string.
    this.#adopt = database.prepare(
      `INSERT INTO objects (resource, key, uid, version, text)
       SELECT resource, key, uid, version, text FROM journal WHERE seq = ?
       ON CONFLICT (resource, key) DO UPDATE
       SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
    );
    this.#delete = database.prepare("DELETE FROM objects WHERE resource = ? AND key = ?");
    this.#clear = database.prepare("DELETE FROM objects WHERE resource = ?");
    this.#rows = new IndexRows(database, this.#resource);
    this.#rows.reconcile(indices, () => this.#entries());
  }

  get(key: Key): T | undefined {
    return this.#isHidden ? undefined : this.#get(key);
  }

  /** In key order. Objects added or removed during the walk count if they lie ahead. */
  *list(): IterableIterator<T> {
    for (const [, object] of this.#entries()) yield object;
  }

  /** In key order. Skips objects that no longer have the value when their turn comes. */
  *byIndex(name: string, value: string): IterableIterator<T> {
    let after = "";
    while (!this.#isHidden) {
      const keys = this.#rows.keys(name, value, after, page);
      for (const key of keys) {
        const object = this.get(key);
        if (object !== undefined && this.#rows.has(name, value, object)) yield object;
      }
      const last = keys.at(-1);
      if (last === undefined || keys.length < page) return;
      after = last;
    }
  }

  /** The values that at least one object has, in order. */
  *indexValues(name: string): IterableIterator<string> {
    if (!this.#isHidden) yield* this.#rows.values(name);
  }

  /** The number of objects with the value. */
  countByIndex(name: string, value: string): number {
    return this.#isHidden ? 0 : this.#rows.count(name, value);
  }

  get size(): number {
    if (this.#isHidden) return 0;
    this.#size ??= this.#count.get(this.#resource)?.count ?? 0;
    return this.#size;
  }

  identity(key: Key): Identity | undefined {
    const quiet = this.#quiet.get(key);
    if (quiet !== undefined) return identityOf(quiet);
    return this.#identity.get(this.#resource, key);
  }

  /** Hides everything from readers until `show`. */
  hide(): void {
    this.#isHidden = true;
  }

  show(): void {
    this.#isHidden = false;
    this.#size = undefined;
  }

  /** The next objects after a key ("" for the first), hidden or not. */
  after(key: Key, limit: number): readonly (readonly [Key, T])[] {
    return this.#keys.all(this.#resource, key, limit).flatMap((row) => {
      const object = this.#passing(row.key);
      return object === undefined ? [] : [[row.key, object] as const];
    });
  }

  /** True if all indices agree on both objects. */
  agree(a: T, b: T): boolean {
    return this.#rows.agree(a, b);
  }

  get hasQuiet(): boolean {
    return this.#quiet.size > 0;
  }

  /** Shows these states from now on, without writing them. */
  keepQuiet(objects: ReadonlyMap<Key, T>): void {
    for (const [key, object] of objects) {
      this.#quiet.set(key, object);
      this.decoded.delete(key);
    }
  }

  /** Inside a transaction: writes the quiet states, and `more` over them. Call `wroteQuiet` after the commit. */
  writeQuiet(more: ReadonlyMap<Key, T>): void {
    for (const [key, object] of this.#quiet) if (!more.has(key)) this.#overwrite(key, object);
    for (const [key, object] of more) this.#overwrite(key, object);
  }

  wroteQuiet(more: ReadonlyMap<Key, T>): void {
    this.#quiet.clear();
    for (const key of more.keys()) this.decoded.delete(key);
  }

  /** Inside a transaction. */
  put(key: Key, before: T | undefined, after: T): void {
    if (before === undefined) this.#size = undefined;
    const { uid, version } = identityOf(after);
    const text = JSON.stringify(after);
    this.#put.run(this.#resource, key, uid, version, text);
    this.#rows.write(key, before, after);
    this.decoded.put(key, after, text.length);
  }

  /**
   * Inside a transaction: like `put`, for many objects that are rarely stored already; does not cache the decoded
   * object. True if the key was not stored.
   */
  add(key: Key, object: T): boolean {
    const { uid, version } = identityOf(object);
    const isNew = this.#add.run(this.#resource, key, uid, version, JSON.stringify(object)) > 0;
    if (isNew) this.#rows.write(key, undefined, object);
    else this.put(key, this.#get(key), object);
    return isNew;
  }

  /** Inside a transaction: makes the journal row `seq`, which holds `after`, the stored state. */
  adopt(key: Key, before: T | undefined, after: T, row: { readonly seq: number; readonly bytes: number }): void {
    if (before === undefined) this.#size = undefined;
    this.#adopt.run(row.seq);
    this.#rows.write(key, before, after);
    this.decoded.put(key, after, row.bytes);
  }

  /** Inside a transaction. */
  remove(key: Key, before: T): void {
    this.#size = undefined;
    this.#delete.run(this.#resource, key);
    this.#rows.write(key, before, undefined);
    this.decoded.delete(key);
  }

  /** Inside a transaction: removes everything. */
  clear(): void {
    this.#size = undefined;
    if (this.#clear.run(this.#resource) > 0) this.#rows.clear();
    this.decoded.clear();
  }

  /** After a failed transaction: drops values cached during it. */
  forget(): void {
    this.#size = undefined;
    this.decoded.clear();
  }

  /** Decodes a stored text and checks that it has this key and the row's uid and version. */
  decode(text: string, key: Key, row: Identity): T {
    let object: unknown;
    try {
      object = JSON.parse(text);
    } catch (error) {
      throw this.#database.damaged(error);
    }
    if (!isStored(object) || keyOf(object) !== key || !isSame(identityOf(object), row)) {
      throw this.#database.damaged(new Error(`the object stored as ${key} has another identity`));
    }
    return object as T;
  }

  *#entries(): IterableIterator<readonly [Key, T]> {
    let after = "";
    while (!this.#isHidden) {
      const rows = this.#keys.all(this.#resource, after, page);
      for (const { key } of rows) {
        const object = this.#passing(key);
        if (object !== undefined) yield [key, object];
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < page) return;
      after = last.key;
    }
  }

  #get(key: Key): T | undefined {
    return this.#quiet.get(key) ?? this.decoded.get(key) ?? this.#read(key, true);
  }

  /** For a full walk: does not fill the cache. */
  #passing(key: Key): T | undefined {
    return this.#quiet.get(key) ?? this.decoded.peek(key) ?? this.#read(key, false);
  }

  #read(key: Key, keep: boolean): T | undefined {
    const row = this.#stored.get(this.#resource, key);
    if (row === undefined) return;
    const object = this.decode(row.text, key, row);
    if (keep) this.decoded.put(key, object, row.text.length);
    return object;
  }

  #overwrite(key: Key, object: T): void {
    this.#update.run(object.metadata.resourceVersion, JSON.stringify(object), this.#resource, key);
  }
}

/** The minimum readers rely on. Other fields are checked by the caller that fetched the object. */
function isStored(value: unknown): value is StoredObject {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return false;
  const { metadata } = value;
  return typeof metadata === "object" && metadata !== null && "name" in metadata && typeof metadata.name === "string";
}
