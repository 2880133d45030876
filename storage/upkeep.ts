import type { Database, Sizes } from "./database.ts";

/**
 * Keeps the WAL of one database short: what was committed is copied into the file after `period`, or as soon as the WAL
 * has grown to `walBytes`. Whoever owns the clock calls `step` now and then; a database that is not written costs nothing.
 */
export class Upkeep {
  readonly #database: Database;
  readonly #period: number;
  readonly #walBytes: number;
  #last: number | undefined;

  /** `period` in milliseconds. Longer is better for flash: a page that changes twice in between is copied once. */
  constructor(parts: { readonly database: Database; readonly period: number; readonly walBytes: number }) {
    this.#database = parts.database;
    this.#period = parts.period;
    this.#walBytes = parts.walBytes;
  }

  /** `now` in milliseconds of a clock that never goes back. Returns the sizes as they are afterwards. */
  step(now: number): Sizes {
    this.#last ??= now;
    const { wal } = this.#database.sizes();
    if (wal >= this.#walBytes || (wal > 0 && now - this.#last >= this.#period)) {
      this.#database.checkpoint();
      this.#last = now;
    }
    return this.#database.sizes();
  }
}
