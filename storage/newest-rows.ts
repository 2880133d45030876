import type { Journal, JournalRow } from "./journal.ts";
import type { Key } from "./object.ts";

/** What waits for the keys of one group of deltas, the newest row of each: looked up once, and known again once it is put. */
export class NewestRows {
  readonly #journal: Journal;
  /** Nothing waits for any key. */
  readonly #isEmpty: boolean;
  readonly #rows = new Map<Key, JournalRow | undefined>();

  constructor(journal: Journal, isEmpty: boolean) {
    this.#journal = journal;
    this.#isEmpty = isEmpty;
  }

  /** For how many of the keys that were looked up something waits. */
  get keys(): number {
    let keys = 0;
    for (const row of this.#rows.values()) if (row !== undefined) keys++;
    return keys;
  }

  get(key: Key): JournalRow | undefined {
    if (!this.#isEmpty && !this.#rows.has(key)) this.#rows.set(key, this.#journal.newest(key));
    return this.#rows.get(key);
  }

  put(key: Key, row: JournalRow): void {
    this.#rows.set(key, row);
  }
}
