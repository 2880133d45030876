import type { Database } from "./database/database.ts";

interface Row {
  readonly key: string;
  readonly value: string;
}

const page = 64;

/** Small facts that survive a restart. Each `set` and `delete` is a separate transaction, on disk when it returns. */
export class Memo {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(area: string, key: string): string | undefined {
    return this.#database.prepare<{ value: string }>("SELECT value FROM memo WHERE area = ? AND key = ?").get(area, key)
      ?.value;
  }

  areas(): readonly string[] {
    const rows = this.#database.prepareOnce<{ area: string }>("SELECT DISTINCT area FROM memo ORDER BY area").all();
    return rows.map(({ area }) => area);
  }

  /**
   * The entries of an area in key order. A change during the walk is visible if the page with its key has not been read
   * yet.
   */
  *entries(area: string): IterableIterator<[string, string]> {
    const select = this.#database.prepare<Row>(
      `SELECT key, value FROM memo WHERE area = ? AND key > ? ORDER BY key LIMIT ${page}`,
    );
    let after = "";
    for (;;) {
      const rows = select.all(area, after);
      for (const { key, value } of rows) yield [key, value];
      const last = rows.at(-1);
      if (last === undefined || rows.length < page) return;
      after = last.key;
    }
  }

  /** Writes nothing if the value is already stored. */
  set(area: string, key: string, value: string): void {
    this.#database
      .prepare(
        `INSERT INTO memo (area, key, value) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
      )
      .run(area, key, value);
  }

  delete(area: string, key: string): void {
    this.#database.prepare("DELETE FROM memo WHERE area = ? AND key = ?").run(area, key);
  }

  clear(area: string): void {
    this.#database.prepare("DELETE FROM memo WHERE area = ?").run(area);
  }
}
