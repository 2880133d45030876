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
    // The text goes from table to table and never becomes a string here.
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

  /** By key. An object that appears or vanishes during the walk is seen if it lies ahead. */
  *list(): IterableIterator<T> {
    for (const [, object] of this.#entries()) yield object;
  }

  /** By key. What no longer has the value when its turn comes is left out. */
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

  /** The values that some object has, in their order. */
  *indexValues(name: string): IterableIterator<string> {
    if (!this.#isHidden) yield* this.#rows.values(name);
  }

  /** How many objects have the value. */
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

  /** Shows nothing to readers, until `show`. */
  hide(): void {
    this.#isHidden = true;
  }

  show(): void {
    this.#isHidden = false;
    this.#size = undefined;
  }

  /** The next objects behind a key, hidden or not; "" before the first. */
  after(key: Key, limit: number): readonly (readonly [Key, T])[] {
    return this.#keys.all(this.#resource, key, limit).flatMap((row) => {
      const object = this.#passing(row.key);
      return object === undefined ? [] : [[row.key, object] as const];
    });
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

  /**
   * Inside a transaction: like `put`, for one of very many that are hardly ever there already; nothing of it stays decoded.
   * True if it was not there.
   */
  add(key: Key, object: T): boolean {
    const { uid, version } = identityOf(object);
    const isNew = this.#add.run(this.#resource, key, uid, version, JSON.stringify(object)) > 0;
    if (isNew) this.#rows.write(key, undefined, object);
    else this.put(key, this.#get(key), object);
    return isNew;
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

  /** Inside a transaction: removes everything. */
  clear(): void {
    this.#size = undefined;
    if (this.#clear.run(this.#resource) > 0) this.#rows.clear();
    this.decoded.clear();
  }

  /** After a transaction that failed: what was remembered of it is not true. */
  forget(): void {
    this.#size = undefined;
    this.decoded.clear();
  }

  /** The object of a stored text: of this key, and in the state that the row beside the text speaks of. */
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

  /** For a walk over everything. */
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

/** Readers rely on no less. What it says besides is for those who asked the server for it. */
function isStored(value: unknown): value is StoredObject {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return false;
  const { metadata } = value;
  return typeof metadata === "object" && metadata !== null && "name" in metadata && typeof metadata.name === "string";
}
