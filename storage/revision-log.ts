import type { Database } from "./database/database.ts";
import type { Migration } from "./database/migrations.ts";

/**
 * site.db: the history of the embedded site API. Deleting the file resets that site without touching an agent's state.
 */
export const siteMigrations: readonly Migration[] = [
  {
    number: 1,
    sql: `
      -- Every write is a new row, its number is the resourceVersion. A row names the row of the same key that it follows
      -- (0: none), and that pair is unique: of two writers who both follow the same row, one fails.
      CREATE TABLE log (
        revision INTEGER PRIMARY KEY AUTOINCREMENT,
        key      TEXT NOT NULL,
        previous INTEGER NOT NULL,
        deleted  INTEGER NOT NULL,                -- 1: the key ends here; the value is the last state
        value    TEXT NOT NULL,
        UNIQUE (key, previous)
      );

      -- Up to which revision the history is gone. One row.
      CREATE TABLE compaction (revision INTEGER NOT NULL);
      INSERT INTO compaction VALUES (0);
    `,
  },
];

/** The keys from `from`, inclusive, to `to`, exclusive, in byte order. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** The state of a key; `revision` is the row that wrote it. */
export interface RevisionEntry {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
}

export interface LogChange extends RevisionEntry {
  readonly deleted: boolean;
  /** The previous state; undefined if this change created the key. */
  readonly before: string | undefined;
}

/** Builds the value to store, which contains the write's own revision. */
export type WriteValue = (revision: number) => string;

interface Row {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
  readonly deleted: number;
}

/** An append-only log of keys and values, readable at any revision not yet compacted. */
export class RevisionLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The newest revision. It never decreases, not even through compaction. */
  get revision(): number {
    const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'log'";
    return this.#database.prepare<{ seq: number }>(sql).get()?.seq ?? 0;
  }

  /** The oldest revision whose state can still be read, and after which a watch can still resume. */
  get compacted(): number {
    return this.#database.prepare<{ revision: number }>("SELECT revision FROM compaction").get()?.revision ?? 0;
  }

  get(key: string): RevisionEntry | undefined {
    const newest = this.#newest(key);
    return newest === undefined || newest.deleted === 1 ? undefined : newest;
  }

  /** Creates a key. Returns undefined if it exists. One transaction. */
  create(key: string, value: WriteValue): RevisionEntry | undefined {
    return this.#database.transaction(() => {
      const newest = this.#newest(key);
      if (newest?.deleted === 0) return undefined;
      return this.#append(key, newest?.revision ?? 0, 0, value);
    });
  }

  /**
   * Replaces the state written at `previous`. Returns undefined if that is no longer the newest state. One transaction.
   */
  update(key: string, previous: number, value: WriteValue): RevisionEntry | undefined {
    return this.#follow(key, previous, 0, value);
  }

  /**
   * Deletes a key; `value` is the last state, for watchers of the key. Returns undefined if the newest state was not
   * written at `previous`. One transaction.
   */
  remove(key: string, previous: number, value: WriteValue): RevisionEntry | undefined {
    return this.#follow(key, previous, 1, value);
  }

  /** At most `limit` entries of the range in key order, as they were at a revision that is not compacted. */
  page({ from, to }: KeyRange, at: number, limit: number): readonly RevisionEntry[] {
    const sql = `
      SELECT key, revision, value FROM log AS entry
      WHERE key >= ? AND key < ? AND ${liveAt}
      ORDER BY key LIMIT ?`;
    return this.#database.prepare<RevisionEntry>(sql).all(from, to, at, at, limit);
  }

  count({ from, to }: KeyRange, at: number): number {
    const sql = `SELECT count(*) AS count FROM log AS entry WHERE key >= ? AND key < ? AND ${liveAt}`;
    return this.#database.prepare<{ count: number }>(sql).get(from, to, at, at)?.count ?? 0;
  }

  /**
   * At most `limit` changes of the range after a revision, in order. The revision must not be older than `compacted`.
   */
  after(revision: number, { from, to }: KeyRange, limit: number): readonly LogChange[] {
    const sql = `
      SELECT change.key, change.revision, change.value, change.deleted, before.value AS before,
             before.deleted AS ended
      FROM log AS change LEFT JOIN log AS before ON before.revision = change.previous
      WHERE change.revision > ? AND change.key >= ? AND change.key < ?
      ORDER BY change.revision LIMIT ?`;
    return this.#database
      .prepare<Row & { readonly before: string | null; readonly ended: number | null }>(sql)
      .all(revision, from, to, limit)
      .map(({ key, revision, value, deleted, before, ended }) => ({
        key,
        revision,
        value,
        deleted: deleted === 1,
        before: ended === 1 ? undefined : (before ?? undefined),
      }));
  }

  /**
   * One step in deleting the history up to `upTo`: reads at most `rows` revisions and records its progress, in one
   * transaction. Returns whether more steps remain.
   */
  compact(upTo: number, rows: number): boolean {
    return this.#database.transaction(() => {
      const from = this.compacted;
      const to = Math.min(upTo, from + rows, this.revision);
      if (to <= from) return false;
      const followed = "SELECT previous FROM log WHERE revision > ? AND revision <= ?";
      this.#database.prepare(`DELETE FROM log WHERE revision IN (${followed})`).run(from, to);
      this.#database.prepare("DELETE FROM log WHERE deleted = 1 AND revision > ? AND revision <= ?").run(from, to);
      this.#database.prepare("UPDATE compaction SET revision = ?").run(to);
      return to < upTo && to < this.revision;
    });
  }

  #newest(key: string): Row | undefined {
    // The newest row of a key is the one that follows the highest revision.
    const sql = "SELECT key, revision, value, deleted FROM log WHERE key = ? ORDER BY previous DESC LIMIT 1";
    return this.#database.prepare<Row>(sql).get(key);
  }

  #follow(key: string, previous: number, deleted: 0 | 1, value: WriteValue): RevisionEntry | undefined {
    return this.#database.transaction(() => {
      const newest = this.#newest(key);
      if (newest?.revision !== previous || newest.deleted === 1) return undefined;
      return this.#append(key, previous, deleted, value);
    });
  }

  #append(key: string, previous: number, deleted: 0 | 1, value: WriteValue): RevisionEntry | undefined {
    const revision = this.revision + 1;
    const text = value(revision);
    const sql = `
      INSERT INTO log (revision, key, previous, deleted, value) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key, previous) DO NOTHING`;
    const written = this.#database.prepare(sql).run(revision, key, previous, deleted, text);
    return written === 0 ? undefined : { key, revision, value: text };
  }
}

/**
 * SQL: true for a row with the state of its key at a revision (bound twice): written by then, not a deletion, and not
 * replaced by then.
 */
const liveAt = `
  deleted = 0 AND revision <= ? AND NOT EXISTS (
    SELECT 1 FROM log AS next WHERE next.key = entry.key AND next.previous = entry.revision AND next.revision <= ?)`;
