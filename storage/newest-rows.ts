import type { Journal, JournalRow } from "./journal.ts";
import type { Key } from "./object.ts";

/** The newest pending row of each key in one group of deltas: read once per key, updated by `put`. */
export class NewestRows {
  readonly #journal: Journal;
  /** Nothing is pending for any key. */
  readonly #isEmpty: boolean;
  readonly #rows = new Map<Key, JournalRow | undefined>();

  constructor(journal: Journal, isEmpty: boolean) {
    this.#journal = journal;
    this.#isEmpty = isEmpty;
  }

  /** The number of keys read so far that have a pending row. */
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
