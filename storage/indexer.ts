import type { Database, Statement } from "./database.ts";
import { DecodeCache } from "./decode-cache.ts";
import { IndexRows } from "./index-rows.ts";
import { type Identity, type IndexFunctions, identityOf, type Key, type StoredObject } from "./object.ts";
import { resourceId } from "./resource-id.ts";

/** How many keys are read at once. Objects are then fetched one by one, so that one at a time is on the heap. */
const page = 64;

/**
 * The objects of one resource, with named indices. `get`, `list`, `byIndex`, `indexValues` and `size` are for readers;
 * the rest belongs to the DeltaFIFO, which alone writes, inside its transactions.
 *
 * Objects handed out are shared: nobody changes them.
 */
export class Indexer<T extends StoredObject> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #rows: IndexRows<T>;
  /** By key what is stored; by seq also what waits in the journal, so that it need not be decoded when its turn comes. */
  readonly decoded: DecodeCache<Key | number, T>;
  /** The newest states that were not worth a write; each lies on top of a stored object of the same uid. */
  readonly #quiet = new Map<Key, T>();
  #size: number | undefined;
  readonly #text: Statement<{ text: string }>;
  readonly #identity: Statement<Identity>;
  readonly #keys: Statement<{ key: Key }>;
  readonly #count: Statement<{ count: number }>;
  readonly #update: Statement<unknown>;
  readonly #put: Statement<unknown>;
  readonly #adopt: Statement<unknown>;
  readonly #delete: Statement<unknown>;

  /** Fills indices that are new since the file was last open. */
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
    this.#text = database.prepare("SELECT text FROM objects WHERE resource = ? AND key = ?");
    this.#identity = database.prepare("SELECT uid, version FROM objects WHERE resource = ? AND key = ?");
    this.#keys = database.prepare(`SELECT key FROM objects WHERE resource = ? AND key > ? ORDER BY key LIMIT ${page}`);
    this.#count = database.prepare("SELECT count(*) AS count FROM objects WHERE resource = ?");
    this.#update = database.prepare("UPDATE objects SET version = ?, text = ? WHERE resource = ? AND key = ?");
    this.#put = database.prepare(
      `INSERT INTO objects (resource, key, uid, version, text) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (resource, key) DO UPDATE
       SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
    );
    // The text goes from table to table and never becomes a string here.
    this.#adopt = database.prepare(
      `INSERT INTO objects (resource, key, uid, version, text)
       SELECT resource, key, uid, version, text FROM journal WHERE seq = ?
       ON CONFLICT (resource, key) DO UPDATE
       SET uid = excluded.uid, version = excluded.version, text = excluded.text`,
    );
    this.#delete = database.prepare("DELETE FROM objects WHERE resource = ? AND key = ?");
    this.#rows = new IndexRows(database, this.#resource);
    this.#rows.reconcile(indices, () => this.#entries());
  }

  get(key: Key): T | undefined {
    return this.#quiet.get(key) ?? this.decoded.get(key) ?? this.#read(key, true);
  }

  /** By key. An object that appears or vanishes during the walk is seen if it lies ahead. */
  *list(): IterableIterator<T> {
    for (const [, object] of this.#entries()) yield object;
  }

  /** By key. What no longer has the value when its turn comes is left out. */
  *byIndex(name: string, value: string): IterableIterator<T> {
    let after = "";
    for (;;) {
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

  /** The values that some object has, in their order. */
  indexValues(name: string): IterableIterator<string> {
    return this.#rows.values(name);
  }

  get size(): number {
    this.#size ??= this.#count.get(this.#resource)?.count ?? 0;
    return this.#size;
  }

  identity(key: Key): Identity | undefined {
    const quiet = this.#quiet.get(key);
    if (quiet !== undefined) return identityOf(quiet);
    return this.#identity.get(this.#resource, key);
  }

  /** True if no index tells the two apart. */
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

  /** Inside a transaction: writes what was kept quiet, and `more` on top of it. Once it has committed: `wroteQuiet`. */
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

  /** Inside a transaction: makes the journal row `seq`, of which `after` is the object, the stored state. */
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

  /** After a transaction that failed: what was remembered of it is not true. */
  forget(): void {
    this.#size = undefined;
    this.decoded.clear();
  }

  /** The object of a stored text. */
  decode(text: string): T {
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw this.#database.damaged(error);
    }
  }

  *#entries(): IterableIterator<readonly [Key, T]> {
    let after = "";
    for (;;) {
      const rows = this.#keys.all(this.#resource, after);
      for (const { key } of rows) {
        const object = this.#quiet.get(key) ?? this.decoded.peek(key) ?? this.#read(key, false);
        if (object !== undefined) yield [key, object];
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < page) return;
      after = last.key;
    }
  }

  #read(key: Key, keep: boolean): T | undefined {
    const text = this.#text.get(this.#resource, key)?.text;
    if (text === undefined) return;
    const object = this.decode(text);
    if (keep) this.decoded.put(key, object, text.length);
    return object;
  }

  #overwrite(key: Key, object: T): void {
    this.#update.run(object.metadata.resourceVersion, JSON.stringify(object), this.#resource, key);
  }
}
