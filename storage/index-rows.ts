import type { Database } from "./database.ts";
import type { IndexFunction, IndexFunctions, Key } from "./object.ts";
import type { Statement } from "./statement.ts";

interface NamedIndex<T> {
  readonly id: number;
  readonly valuesOf: IndexFunction<T>;
}

/** The rows of one resource's named indices. They are written in the transaction that writes the object. */
export class IndexRows<T> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #indices = new Map<string, NamedIndex<T>>();
  readonly #insert: Statement<unknown>;
  readonly #delete: Statement<unknown>;
  readonly #clear: Statement<unknown>;
  readonly #keys: Statement<{ key: Key }>;
  readonly #count: Statement<{ count: number }>;
  readonly #firstValue: Statement<{ value: string | null }>;
  readonly #nextValue: Statement<{ value: string | null }>;

  constructor(database: Database, resource: number) {
    this.#database = database;
    this.#resource = resource;
    // An index function may return a value twice.
    this.#insert = database.prepare(`INSERT OR IGNORE INTO index_rows ("index", value, key) VALUES (?, ?, ?)`);
    this.#delete = database.prepare(`DELETE FROM index_rows WHERE "index" = ? AND value = ? AND key = ?`);
    this.#clear = database.prepare(`DELETE FROM index_rows WHERE "index" = ?`);
    this.#keys = database.prepare(
      `SELECT key FROM index_rows WHERE "index" = ? AND value = ? AND key > ? ORDER BY key LIMIT ?`,
    );
    this.#count = database.prepare(`SELECT count(*) AS count FROM index_rows WHERE "index" = ? AND value = ?`);
    this.#firstValue = database.prepare(`SELECT min(value) AS value FROM index_rows WHERE "index" = ?`);
    this.#nextValue = database.prepare(`SELECT min(value) AS value FROM index_rows WHERE "index" = ? AND value > ?`);
  }

  /** Makes the stored indices match `functions`, by name: drops indices no longer wanted, fills new ones. */
  reconcile(functions: IndexFunctions<T>, objects: () => Iterable<readonly [Key, T]>): void {
    const stored = new Map(this.#stored().map(({ name, id }) => [name, id]));
    const isMissing = Object.keys(functions).some((name) => !stored.has(name));
    const isObsolete = [...stored.keys()].some((name) => !Object.hasOwn(functions, name));
    if (isMissing || isObsolete) this.#database.transaction(() => this.#rebuild(functions, stored, objects));
    for (const { name, id } of this.#stored()) {
      const valuesOf = functions[name];
      if (valuesOf !== undefined) this.#indices.set(name, { id, valuesOf });
    }
  }

  /** Replaces the rows of `before` by those of `after`. */
  write(key: Key, before: T | undefined, after: T | undefined): void {
    for (const { id, valuesOf } of this.#indices.values()) {
      const old = new Set(before === undefined ? [] : valuesOf(before));
      const now = new Set(after === undefined ? [] : valuesOf(after));
      for (const value of old) if (!now.has(value)) this.#delete.run(id, value, key);
      for (const value of now) if (!old.has(value)) this.#insert.run(id, value, key);
    }
  }

  /** Deletes the rows of all objects. */
  clear(): void {
    for (const { id } of this.#indices.values()) this.#clear.run(id);
  }

  /** True if every index has the same values for both. */
  agree(a: T, b: T): boolean {
    for (const { valuesOf } of this.#indices.values()) {
      const [left, right] = [new Set(valuesOf(a)), new Set(valuesOf(b))];
      if (left.size !== right.size || ![...left].every((value) => right.has(value))) return false;
    }
    return true;
  }

  has(name: string, value: string, object: T): boolean {
    return this.#index(name).valuesOf(object).includes(value);
  }

  /** The next keys that have a value. */
  keys(name: string, value: string, after: Key, limit: number): readonly Key[] {
    return this.#keys.all(this.#index(name).id, value, after, limit).map(({ key }) => key);
  }

  count(name: string, value: string): number {
    return this.#count.get(this.#index(name).id, value)?.count ?? 0;
  }

  *values(name: string): IterableIterator<string> {
    const { id } = this.#index(name);
    let value = this.#firstValue.get(id)?.value ?? undefined;
    while (value !== undefined) {
      yield value;
      value = this.#nextValue.get(id, value)?.value ?? undefined;
    }
  }

  #index(name: string): NamedIndex<T> {
    const index = this.#indices.get(name);
    if (index === undefined) throw new Error(`there is no index named ${name}`);
    return index;
  }

  #stored(): readonly { readonly id: number; readonly name: string }[] {
    return this.#database
      .prepare<{ id: number; name: string }>("SELECT id, name FROM indices WHERE resource = ?")
      .all(this.#resource);
  }

  #rebuild(
    functions: IndexFunctions<T>,
    stored: ReadonlyMap<string, number>,
    objects: () => Iterable<readonly [Key, T]>,
  ): void {
    for (const [name, id] of stored) {
      if (Object.hasOwn(functions, name)) continue;
      this.#clear.run(id);
      this.#database.prepare("DELETE FROM indices WHERE id = ?").run(id);
    }
    const insert = this.#database.prepare<{ id: number }>(
      "INSERT INTO indices (resource, name) VALUES (?, ?) RETURNING id",
    );
    const added: NamedIndex<T>[] = [];
    for (const [name, valuesOf] of Object.entries(functions)) {
      if (stored.has(name)) continue;
      const id = insert.get(this.#resource, name)?.id;
      if (id !== undefined) added.push({ id, valuesOf });
    }
    if (added.length === 0) return;
    for (const [key, object] of objects()) {
      for (const { id, valuesOf } of added) for (const value of valuesOf(object)) this.#insert.run(id, value, key);
    }
  }
}
