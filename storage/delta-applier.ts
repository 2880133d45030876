import { collapse } from "./collapse.ts";
import { heldRows } from "./held-deltas.ts";
import type { Indexer } from "./indexer.ts";
import type { Journal, JournalRow } from "./journal.ts";
import { type Change, type Delta, identityOf, isSame, type Key, type StoredObject } from "./object.ts";

/** The keys taken off the queue, and the changes they made. */
export interface Applied<T> {
  readonly keys: number;
  readonly changes: readonly Change<T>[];
}

/** Turns deltas into stored states and reported changes, inside the transactions of the DeltaFIFO. */
export class DeltaApplier<T extends StoredObject> {
  readonly #journal: Journal;
  readonly #indexer: Indexer<T>;

  constructor(parts: { readonly journal: Journal; readonly indexer: Indexer<T> }) {
    this.#journal = parts.journal;
    this.#indexer = parts.indexer;
  }

  /** Reads and erases the head of the queue as one range; goes key by key only for keys that occur again behind it. */
  applyQueued(limit: number): Applied<T> {
    const { ceiling } = this.#journal;
    const head = this.#journal.queued(undefined, ceiling, limit);
    const last = head.at(-1);
    if (last === undefined) return { keys: 0, changes: [] };
    const byKey = new Map<Key, JournalRow[]>();
    for (const row of head) {
      const rows = byKey.get(row.key);
      if (rows === undefined) byKey.set(row.key, [row]);
      else rows.push(row);
    }
    for (const key of head.length < limit ? [] : this.#journal.behind(last.seq, ceiling)) {
      byKey.set(key, [...this.#journal.rows(key, ceiling)]);
    }
    const changes: Change<T>[] = [];
    for (const [key, rows] of byKey) {
      changes.push(...this.#applyKey(key, rows));
      if ((rows.at(-1)?.seq ?? 0) > last.seq) this.#journal.erase(key, ceiling);
    }
    this.#journal.eraseHead(last.seq);
    return { keys: byKey.size, changes };
  }

  /**
   * Applies deltas that never were in the queue. `quiet`: states from the same group that precede these deltas and are
   * already written in this transaction.
   */
  applyHeld(deltas: readonly Delta<T>[], quiet: ReadonlyMap<Key, T>): readonly Change<T>[] {
    const told: Change<T>[] = [];
    for (const [key, rows] of heldRows(deltas)) {
      const before = quiet.get(key) ?? this.#indexer.get(key);
      const { changes, after, row } = collapse(key, before, rows, ({ object }) => object);
      if (after === undefined) {
        if (before !== undefined) this.#indexer.remove(key, before);
      } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) {
        this.#indexer.put(key, before, after);
      }
      told.push(...changes);
    }
    return told;
  }

  #applyKey(key: Key, rows: readonly JournalRow[]): readonly Change<T>[] {
    const before = this.#indexer.get(key);
    const { changes, after, row } = collapse(key, before, rows, (row) => this.#object(key, row));
    if (after === undefined) {
      if (before !== undefined) this.#indexer.remove(key, before);
    } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) {
      this.#indexer.adopt(key, before, after, row);
    }
    for (const { seq } of rows) this.#indexer.decoded.delete(seq);
    return changes;
  }

  #object(key: Key, row: JournalRow): T {
    return this.#indexer.decoded.get(row.seq) ?? this.#indexer.decode(this.#journal.text(row.seq), key, row);
  }
}
