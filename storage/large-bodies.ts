import type { Database } from "./database/database.ts";

/**
 * A body of more bytes than this counts as large. The number is also part of the file's format: see step 8 of
 * `cacheMigrations`.
 */
export const largeFrom = 32 * 1024;

/**
 * The bytes that large bodies take in the cache, including those of deltas that are not applied yet. Nothing is kept in
 * memory: two partial indices list only these bodies.
 */
export class LargeBodies {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The sum over all resources and namespaces. */
  bytes(): number {
    const { bytes } =
      this.#database
        .prepare<{ bytes: number }>(
          `SELECT (SELECT ifnull(sum(octet_length(text)), 0) FROM objects WHERE octet_length(text) > 32768)
             + (SELECT ifnull(sum(octet_length(text)), 0) FROM journal WHERE octet_length(text) > 32768) AS bytes`,
        )
        .get() ?? {};
    return bytes ?? 0;
  }

  /** The sum over all resources of one namespace. */
  bytesIn(namespace: string): number {
    // "0" is the character after "/", so the range has exactly the keys of this namespace.
    const [from, to] = [`${namespace}/`, `${namespace}0`];
    const { bytes } =
      this.#database
        .prepare<{ bytes: number }>(
          `SELECT (SELECT ifnull(sum(octet_length(text)), 0) FROM objects
                   WHERE octet_length(text) > 32768 AND key >= ? AND key < ?)
             + (SELECT ifnull(sum(octet_length(text)), 0) FROM journal
                WHERE octet_length(text) > 32768 AND key >= ? AND key < ?) AS bytes`,
        )
        .get(from, to, from, to) ?? {};
    return bytes ?? 0;
  }
}
