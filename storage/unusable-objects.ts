import type { Database } from "./database/database.ts";
import type { Key } from "./object.ts";
import { resourceId } from "./resource-id.ts";

/** The objects of one resource whose newest state cannot be used, with the reason. Each method is one transaction. */
export class UnusableObjects {
  readonly #database: Database;
  readonly #resource: number;

  constructor(database: Database, resource: string) {
    this.#database = database;
    this.#resource = resourceId(database, resource);
  }

  entries(): readonly (readonly [Key, string])[] {
    return this.#database
      .prepareOnce<{ key: Key; why: string }>("SELECT key, why FROM unusable WHERE resource = ? ORDER BY key")
      .all(this.#resource)
      .map(({ key, why }) => [key, why]);
  }

  set(key: Key, why: string): void {
    this.#put(key, why);
  }

  delete(key: Key): void {
    this.#database.prepare("DELETE FROM unusable WHERE resource = ? AND key = ?").run(this.#resource, key);
  }

  replace(entries: Iterable<readonly [Key, string]>): void {
    this.#database.transaction(() => {
      this.#database.prepare("DELETE FROM unusable WHERE resource = ?").run(this.#resource);
      for (const [key, why] of entries) this.#put(key, why);
    });
  }

  #put(key: Key, why: string): void {
    this.#database
      .prepare("INSERT OR REPLACE INTO unusable (resource, key, why) VALUES (?, ?, ?)")
      .run(this.#resource, key, why);
  }
}
