import type { Database } from "../database/database.ts";
import type { IndexFunction, IndexFunctions, Key } from "../object.ts";

interface NamedIndex<T> {
  readonly id: number;
  readonly valuesOf: IndexFunction<T>;
}

interface Least {
  readonly value: string | null;
}

/**
 * The named indices of one resource. Their rows are written in the transaction that writes the object.
 *
 * Stored indices are recognised by name alone. A function that computes something else under the name of a stored index
 * would leave the old rows in place, so such a change needs a step in `cacheMigrations`.
 */
export class IndexRows<T> {
  readonly #database: Database;
  readonly #resource: number;
  readonly #indices = new Map<string, NamedIndex<T>>();

  constructor(database: Database, resource: number) {
    this.#database = database;
    this.#resource = resource;
  }

  /** Drops stored indices whose name is not in `functions`, and fills the new ones. */
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

  /** Replaces the rows of `before` with those of `after`; either is undefined if the object does not exist. */
  write(key: Key, before: T | undefined, after: T | undefined): void {
    for (const { id, valuesOf } of this.#indices.values()) {
      const old = new Set(before === undefined ? [] : valuesOf(before));
      const now = new Set(after === undefined ? [] : valuesOf(after));
      for (const value of old) if (!now.has(value)) this.#delete(id, value, key);
      for (const value of now) if (!old.has(value)) this.#insert(id, value, key);
    }
  }

  /** Deletes the rows of all objects. */
  clear(): void {
    for (const { id } of this.#indices.values()) this.#clear(id);
  }

  /** True if every index has the same values for both objects. */
  haveSameValues(a: T, b: T): boolean {
    for (const { valuesOf } of this.#indices.values()) {
      const [left, right] = [new Set(valuesOf(a)), new Set(valuesOf(b))];
      if (left.size !== right.size || ![...left].every((value) => right.has(value))) return false;
    }
    return true;
  }

  /** Whether the object has the value in the index. */
  has(name: string, value: string, object: T): boolean {
    return this.#index(name).valuesOf(object).includes(value);
  }

  /** At most `limit` keys after `after` whose objects have the value. */
  keys(name: string, value: string, after: Key, limit: number): readonly Key[] {
    return this.#database
      .prepare<{ key: Key }>(
        `SELECT key FROM index_rows WHERE "index" = ? AND value = ? AND key > ? ORDER BY key LIMIT ?`,
      )
      .all(this.#index(name).id, value, after, limit)
      .map(({ key }) => key);
  }

  count(name: string, value: string): number {
    return (
      this.#database
        .prepare<{ count: number }>(`SELECT count(*) AS count FROM index_rows WHERE "index" = ? AND value = ?`)
        .get(this.#index(name).id, value)?.count ?? 0
    );
  }

  *values(name: string): IterableIterator<string> {
    const { id } = this.#index(name);
    const first = this.#database.prepare<Least>(`SELECT min(value) AS value FROM index_rows WHERE "index" = ?`);
    const next = this.#database.prepare<Least>(
      `SELECT min(value) AS value FROM index_rows WHERE "index" = ? AND value > ?`,
    );
    for (let value = first.get(id)?.value ?? null; value !== null; value = next.get(id, value)?.value ?? null) {
      yield value;
    }
  }

  #insert(index: number, value: string, key: Key): void {
    // OR IGNORE, because an index function may return a value twice.
    this.#database
      .prepare(`INSERT OR IGNORE INTO index_rows ("index", value, key) VALUES (?, ?, ?)`)
      .run(index, value, key);
  }

  #delete(index: number, value: string, key: Key): void {
    this.#database.prepare(`DELETE FROM index_rows WHERE "index" = ? AND value = ? AND key = ?`).run(index, value, key);
  }

  #clear(index: number): void {
    this.#database.prepare(`DELETE FROM index_rows WHERE "index" = ?`).run(index);
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
      this.#clear(id);
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
      for (const { id, valuesOf } of added) for (const value of valuesOf(object)) this.#insert(id, value, key);
    }
  }
}
