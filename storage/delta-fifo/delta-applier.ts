import type { ObjectTable } from "../indexer/object-table.ts";
import { maxBytes, upTo } from "../indexer/up-to.ts";
import { type Change, type Delta, identityOf, isSame, type Key, keyOf, type StoredObject } from "../object.ts";
import { type CollapseResult, collapse, type DeltaRow, isRepeatedDeletion } from "./collapse.ts";
import type { Journal, JournalRow } from "./journal.ts";

/** The result of taking keys off the queue. */
export interface Applied<T> {
  /** The number of keys taken. */
  readonly keys: number;
  readonly changes: readonly Change<T>[];
}

/** Turns deltas into stored states and reported changes, inside the transactions of the DeltaFIFO. */
export class DeltaApplier<T extends StoredObject> {
  readonly #journal: Journal;
  readonly #table: ObjectTable<T>;

  constructor(deps: { readonly journal: Journal; readonly table: ObjectTable<T> }) {
    this.#journal = deps.journal;
    this.#table = deps.table;
  }

  /**
   * Applies the oldest `limit` rows, and all later rows of their keys. The head of the queue is read and erased as one
   * range; only keys that recur after it are read and erased individually.
   */
  applyQueued(limit: number): Applied<T> {
    const { ceiling } = this.#journal;
    const queued = this.#journal.queued(ceiling, limit);
    // Each row of a key has the weight of the whole key.
    const weighed = new Set<Key>();
    const head = upTo(maxBytes, queued, ({ key, weight }) => {
      if (weighed.has(key)) return 0;
      weighed.add(key);
      return weight;
    });
    const last = head.at(-1);
    if (last === undefined) return { keys: 0, changes: [] };
    // The deltas of a key are applied together, so the rows of these keys behind the head are needed too. If the head
    // is the whole queue, there are none.
    const isWhole = queued.length < limit && head.length === queued.length;
    const byKey = new Map<Key, JournalRow[]>();
    for (const row of head) {
      const rows = byKey.get(row.key);
      if (rows === undefined) byKey.set(row.key, [row]);
      else rows.push(row);
    }
    for (const key of isWhole ? [] : this.#journal.behind(last.seq, ceiling)) {
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
   * Whether the stored objects of these deltas are too large to be read together, so that `applyQueued` reads fewer at
   * a time.
   */
  isHeavy(deltas: readonly Delta<T>[]): boolean {
    const keys = new Set(deltas.map(({ object }) => keyOf(object)));
    let bytes = 0;
    if (keys.size > 1) for (const key of keys) bytes += this.#table.bytes(key);
    return bytes > maxBytes;
  }

  /**
   * Applies deltas that were never queued. `quiet`: states from the same group that precede these deltas and were
   * written earlier in this transaction.
   */
  applyInMemory(deltas: readonly Delta<T>[], quiet: ReadonlyMap<Key, T>): readonly Change<T>[] {
    const reported: Change<T>[] = [];
    for (const [key, rows] of inMemoryRows(deltas)) {
      const before = quiet.get(key) ?? this.#table.get(key);
      const result = collapse(key, before, rows, ({ object }) => object);
      this.#store(key, before, result, (after) => this.#table.replace(key, before, after));
      reported.push(...result.changes);
    }
    return reported;
  }

  /** The object of a row that has one. */
  objectOf(key: Key, row: JournalRow): T {
    return this.#table.decodedPending(row.seq) ?? this.#table.decode(this.#journal.text(row.seq), key, row);
  }

  #applyKey(key: Key, rows: readonly JournalRow[]): readonly Change<T>[] {
    const before = this.#table.get(key);
    const result = collapse(key, before, rows, (row) => this.objectOf(key, row));
    this.#store(key, before, result, (after, row) => this.#table.replaceFromJournal(key, before, after, row));
    for (const { seq } of rows) this.#table.dropPending(seq);
    return result.changes;
  }

  /** Stores the state after a key's deltas; calls `replace` unless it is already stored. */
  #store<Row extends DeltaRow>(
    key: Key,
    before: T | undefined,
    { after, row }: CollapseResult<T, Row>,
    replace: (after: T, row: Row) => void,
  ): void {
    if (after === undefined) {
      if (before !== undefined) this.#table.remove(key, before);
    } else if (row !== undefined && (before === undefined || !isSame(identityOf(before), row))) replace(after, row);
  }
}

/** A delta in memory, with its object. */
interface InMemoryRow<T> extends DeltaRow {
  readonly object: T;
}

/** Groups deltas by key, as the journal would return them. */
function inMemoryRows<T extends StoredObject>(
  deltas: readonly Delta<T>[],
): ReadonlyMap<Key, readonly InMemoryRow<T>[]> {
  const byKey = new Map<Key, InMemoryRow<T>[]>();
  for (const { type, object } of deltas) {
    const key = keyOf(object);
    const rows = byKey.get(key);
    const row = { type, object, hasObject: true, ...identityOf(object) };
    if (rows === undefined) byKey.set(key, [row]);
    else if (!isRepeatedDeletion(rows.at(-1), type)) rows.push(row);
  }
  return byKey;
}
