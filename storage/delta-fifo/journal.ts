import type { Database } from "../database/database.ts";
import type { DeltaType, Identity, Key } from "../object.ts";
import { resourceId } from "../resource-id.ts";
import type { DeltaRow } from "./collapse.ts";

/** A pending delta without its object. */
export interface JournalRow extends DeltaRow {
  /** Place in the queue: lower numbers come first. */
  readonly seq: number;
  /** Length of the object's text, in bytes; 0 without an object. */
  readonly bytes: number;
}

export interface QueuedRow extends JournalRow {
  readonly key: Key;
  /** Total bytes of the JSON that is read to apply the key: its stored object, and all its rows. */
  readonly weight: number;
}

/** A row as SQLite returns it. */
interface SelectedRow extends Identity {
  readonly seq: number;
  readonly type: DeltaType;
  /** Null if the row has no text. */
  readonly bytes: number | null;
}

interface ResourceRow {
  readonly position: string | null;
  readonly proof: string | null;
  readonly populated: number;
  readonly stagedAfter: number | null;
}

/** Each resource numbers its deltas within its own range of this size. */
const range = 2 ** 40;

// The statements are constants, because SQL that is built on each call would also have to be hashed on each call to
// find its prepared statement.
const columns = "seq, type, uid, version, octet_length(text) AS bytes";
const newestOfKey = `SELECT ${columns} FROM journal WHERE resource = ? AND key = ? ORDER BY seq DESC LIMIT 1`;
const rowsOfKey = `SELECT ${columns} FROM journal WHERE resource = ? AND key = ? AND seq <= ? ORDER BY seq`;
/** The next rows of the queue. The row headers contain the lengths of the JSON, so no JSON is read. */
const queue = `SELECT key, ${columns},
    coalesce((SELECT octet_length(text) FROM objects AS stored
              WHERE stored.resource = journal.resource AND stored.key = journal.key), 0)
    + (SELECT coalesce(sum(octet_length(text)), 0) FROM journal AS pending
       WHERE pending.resource = journal.resource AND pending.key = journal.key) AS weight
  FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`;

/**
 * The deltas of one resource that were received but not yet applied, in order, and the watch position that belongs to
 * them. Every method that writes is called inside a transaction of the DeltaFIFO. Only the next number is kept outside
 * the file, so a failed transaction leaves nothing behind.
 *
 * The list of a Replace is staged: its rows are written page by page and wait behind `ceiling` until the list is
 * complete.
 */
export class Journal {
  readonly #database: Database;
  readonly #resource: number;
  readonly #first: number;
  readonly #end: number;
  #next: number;

  constructor(database: Database, resource: string) {
    this.#database = database;
    this.#resource = resourceId(database, resource);
    this.#first = this.#resource * range;
    this.#end = this.#first + range;
    const last = database
      .prepareOnce<{ seq: number | null }>("SELECT max(seq) AS seq FROM journal WHERE seq > ? AND seq < ?")
      .get(this.#first, this.#end);
    this.#next = (last?.seq ?? this.#first) + 1;
  }

  get position(): string | undefined {
    return this.#state().position ?? undefined;
  }

  /** The proof stored with the position. */
  get proof(): string | undefined {
    return this.#state().proof ?? undefined;
  }

  get populated(): boolean {
    return this.#state().populated === 1;
  }

  /** The last seq of the queue: rows with a higher one are staged. */
  get ceiling(): number {
    return this.#state().stagedAfter ?? this.#end;
  }

  /** The number of pending keys. Rows of one key are adjacent in the index, so counting needs no extra memory. */
  get depth(): number {
    return (
      this.#database
        .prepare<{ count: number }>("SELECT count(DISTINCT key) AS count FROM journal WHERE resource = ?")
        .get(this.#resource)?.count ?? 0
    );
  }

  moveTo(position: string | undefined, populated: boolean, proof: string | undefined): void {
    this.#database
      .prepare("UPDATE resources SET position = ?, populated = ?, proof = ? WHERE id = ?")
      .run(position ?? null, populated ? 1 : 0, proof ?? null, this.#resource);
  }

  /** Adds a row at the end, and returns its seq. `text` is null if the row refers to the previously known object. */
  put(key: Key, type: DeltaType, { uid, version }: Identity, text: string | null): number {
    const seq = this.#next++;
    this.#database
      .prepare("INSERT INTO journal (seq, resource, key, type, uid, version, text) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(seq, this.#resource, key, type, uid, version, text);
    return seq;
  }

  /** Replaces a row's object; the row keeps its place in the queue. */
  overwrite(seq: number, { uid, version }: Identity, text: string): void {
    this.#database
      .prepare("UPDATE journal SET uid = ?, version = ?, text = ? WHERE seq = ?")
      .run(uid, version, text, seq);
  }

  newest(key: Key): JournalRow | undefined {
    const row = this.#database.prepare<SelectedRow>(newestOfKey).get(this.#resource, key);
    return row && journalRow(row);
  }

  count(key: Key): number {
    return (
      this.#database
        .prepare<{ count: number }>("SELECT count(*) AS count FROM journal WHERE resource = ? AND key = ?")
        .get(this.#resource, key)?.count ?? 0
    );
  }

  /**
   * All pending rows of a key, oldest first. There are only a few, because `condense` leaves two rows per object and
   * one more for each of its previous uids.
   */
  rows(key: Key, ceiling: number): readonly JournalRow[] {
    return this.#database.prepare<SelectedRow>(rowsOfKey).all(this.#resource, key, ceiling).map(journalRow);
  }

  text(seq: number): string {
    const row = this.#database.prepare<{ text: string | null }>("SELECT text FROM journal WHERE seq = ?").get(seq);
    const text = row?.text ?? undefined;
    if (text === undefined) throw this.#database.damaged(new Error(`journal row ${seq} has no text`));
    return text;
  }

  /** At most `limit` rows from the head of the queue, oldest first. */
  queued(ceiling: number, limit: number): readonly QueuedRow[] {
    const rows = this.#database
      .prepare<SelectedRow & Pick<QueuedRow, "key" | "weight">>(queue)
      .all(this.#first, ceiling, limit);
    return rows.map((row) => ({ ...journalRow(row), key: row.key, weight: row.weight }));
  }

  /** The places and keys of at most `limit` rows of the queue after `seq`; undefined to begin at the head. */
  queuedKeys(seq: number | undefined, ceiling: number, limit: number): readonly Pick<QueuedRow, "seq" | "key">[] {
    return this.#database
      .prepare<Pick<QueuedRow, "seq" | "key">>(
        "SELECT seq, key FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
      )
      .all(seq ?? this.#first, ceiling, limit);
  }

  /** The keys with a row up to `seq` that also have a row after it. */
  behind(seq: number, ceiling: number): readonly Key[] {
    return this.#database
      .prepare<{ key: Key }>(
        `SELECT DISTINCT key FROM journal WHERE seq > ? AND seq <= ? AND EXISTS (
           SELECT 1 FROM journal AS later
           WHERE later.resource = journal.resource AND later.key = journal.key AND later.seq > ? AND later.seq <= ?)`,
      )
      .all(this.#first, seq, seq, ceiling)
      .map(({ key }) => key);
  }

  /** Erases all rows up to `seq`. */
  eraseHead(seq: number): void {
    this.#database.prepare("DELETE FROM journal WHERE seq > ? AND seq <= ?").run(this.#first, seq);
  }

  erase(key: Key, ceiling: number): void {
    this.#database
      .prepare("DELETE FROM journal WHERE resource = ? AND key = ? AND seq <= ?")
      .run(this.#resource, key, ceiling);
  }

  /**
   * Drops rows that a newer delta of the same uid supersedes, and returns how many. Keeps three kinds: the oldest row,
   * which is the key's place in the queue; the last row of every uid; and the row with the object of a tombstone.
   */
  condense(key: Key): number {
    const erase = this.#database.prepare("DELETE FROM journal WHERE seq = ?");
    const [, ...rows] = this.rows(key, this.#end);
    let dropped = 0;
    let next = rows.pop();
    for (const row of rows.reverse()) {
      if (next !== undefined && row.uid === next.uid && next.hasObject) {
        erase.run(row.seq);
        dropped++;
      } else next = row;
    }
    return dropped;
  }

  /** After this, new rows are staged. */
  stage(): void {
    this.#stageAfter(this.#next - 1);
  }

  /** Moves the staged rows into the queue. */
  release(): void {
    this.#endStage();
  }

  /** Drops the staged rows, including those from before a power cut. */
  discard(): void {
    const { stagedAfter } = this.#state();
    if (stagedAfter === null) return;
    this.#database.prepare("DELETE FROM journal WHERE seq > ? AND seq < ?").run(stagedAfter, this.#end);
    this.#endStage();
  }

  /** Records that the list in progress has this key, for an object that needs no journal row. */
  markListed(key: Key): void {
    this.#database.prepare("INSERT OR IGNORE INTO seen (resource, key) VALUES (?, ?)").run(this.#resource, key);
  }

  /**
   * The next stored objects after a key ("" for the first) that are neither in the list in progress nor in the journal.
   */
  unmentionedAfter(key: Key, limit: number): readonly (Identity & { readonly key: Key })[] {
    return this.#database
      .prepare<Identity & { key: Key }>(
        `SELECT key, uid, version FROM objects WHERE resource = ? AND key > ?
         AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.resource = objects.resource AND seen.key = objects.key)
         AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.resource = objects.resource AND journal.key = objects.key)
         ORDER BY key LIMIT ?`,
      )
      .all(this.#resource, key, limit);
  }

  #state(): ResourceRow {
    const row = this.#database
      .prepare<ResourceRow>(
        "SELECT position, proof, populated, staged_after AS stagedAfter FROM resources WHERE id = ?",
      )
      .get(this.#resource);
    if (row === undefined) throw this.#database.damaged(new Error(`no row for resource ${this.#resource}`));
    return row;
  }

  #stageAfter(seq: number | null): void {
    this.#database.prepare("UPDATE resources SET staged_after = ? WHERE id = ?").run(seq, this.#resource);
  }

  #endStage(): void {
    this.#stageAfter(null);
    this.#database.prepare("DELETE FROM seen WHERE resource = ?").run(this.#resource);
  }
}

const journalRow = ({ seq, type, uid, version, bytes }: SelectedRow): JournalRow => ({
  seq,
  type,
  uid,
  version,
  hasObject: bytes !== null,
  bytes: bytes ?? 0,
});
