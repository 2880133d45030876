import type { DeltaRow } from "./collapse.ts";
import type { Database } from "./database.ts";
import type { DeltaType, Identity, Key } from "./object.ts";
import { resourceId } from "./resource-id.ts";
import type { Statement } from "./statement.ts";

/** A pending delta without its object. */
export interface JournalRow extends DeltaRow {
  readonly seq: number;
}

export interface Queued extends JournalRow {
  readonly key: Key;
}

interface ResourceRow {
  readonly position: string | null;
  readonly proof: string | null;
  readonly populated: number;
  readonly stagedAfter: number | null;
}

/** Each resource numbers its deltas within a range of this size. */
const range = 2 ** 40;

const columns = "seq, type, uid, version, octet_length(text) AS bytes";

/**
 * The deltas of one resource that were received and not yet applied, in order, and the watch position that belongs to
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
  readonly #insert: Statement<unknown>;
  readonly #overwrite: Statement<unknown>;
  readonly #newest: Statement<JournalRow>;
  readonly #count: Statement<{ count: number }>;
  readonly #depth: Statement<{ count: number }>;
  readonly #rows: Statement<JournalRow>;
  readonly #queue: Statement<Queued>;
  readonly #behind: Statement<{ key: Key }>;
  readonly #eraseHead: Statement<unknown>;
  readonly #text: Statement<{ text: string | null }>;
  readonly #erase: Statement<unknown>;
  readonly #eraseOne: Statement<unknown>;
  readonly #row: Statement<ResourceRow>;
  readonly #position: Statement<unknown>;
  readonly #stage: Statement<unknown>;
  readonly #see: Statement<unknown>;
  readonly #unmentioned: Statement<Identity & { key: Key }>;

  constructor(database: Database, resource: string) {
    this.#database = database;
    this.#resource = resourceId(database, resource);
    this.#first = this.#resource * range;
    this.#end = this.#first + range;
    this.#insert = database.prepare(
      "INSERT INTO journal (seq, resource, key, type, uid, version, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#overwrite = database.prepare("UPDATE journal SET uid = ?, version = ?, text = ? WHERE seq = ?");
    this.#newest = database.prepare(
      `SELECT ${columns} FROM journal WHERE resource = ? AND key = ? ORDER BY seq DESC LIMIT 1`,
    );
    this.#count = database.prepare("SELECT count(*) AS count FROM journal WHERE resource = ? AND key = ?");
    this.#depth = database.prepare("SELECT count(DISTINCT key) AS count FROM journal WHERE resource = ?");
    // Bounded: `condense` leaves two rows per object and one more for each of its former uids.
    this.#rows = database.prepare(
      `SELECT ${columns} FROM journal WHERE resource = ? AND key = ? AND seq <= ? ORDER BY seq`,
    );
    this.#queue = database.prepare(
      `SELECT key, ${columns} FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
    );
    this.#behind = database.prepare(
      `SELECT DISTINCT key FROM journal WHERE seq > ? AND seq <= ? AND EXISTS (
         SELECT 1 FROM journal AS later
         WHERE later.resource = journal.resource AND later.key = journal.key AND later.seq > ? AND later.seq <= ?)`,
    );
    this.#eraseHead = database.prepare("DELETE FROM journal WHERE seq > ? AND seq <= ?");
    this.#text = database.prepare("SELECT text FROM journal WHERE seq = ?");
    this.#erase = database.prepare("DELETE FROM journal WHERE resource = ? AND key = ? AND seq <= ?");
    this.#eraseOne = database.prepare("DELETE FROM journal WHERE seq = ?");
    this.#row = database.prepare(
      "SELECT position, proof, populated, staged_after AS stagedAfter FROM resources WHERE id = ?",
    );
    this.#position = database.prepare("UPDATE resources SET position = ?, populated = ?, proof = ? WHERE id = ?");
    this.#stage = database.prepare("UPDATE resources SET staged_after = ? WHERE id = ?");
    this.#see = database.prepare("INSERT OR IGNORE INTO seen (resource, key) VALUES (?, ?)");
    this.#unmentioned = database.prepare(
      `SELECT key, uid, version FROM objects WHERE resource = ? AND key > ?
       AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.resource = objects.resource AND seen.key = objects.key)
       AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.resource = objects.resource AND journal.key = objects.key)
       ORDER BY key LIMIT ?`,
    );
    const last = database
      .prepare<{ seq: number | null }>("SELECT max(seq) AS seq FROM journal WHERE seq > ? AND seq < ?")
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

  /** Rows with a higher seq are staged. */
  get ceiling(): number {
    return this.#state().stagedAfter ?? this.#end;
  }

  /** The number of pending keys. Rows of one key are adjacent in the index, so counting needs no extra memory. */
  get depth(): number {
    return this.#depth.get(this.#resource)?.count ?? 0;
  }

  moveTo(position: string | undefined, populated: boolean, proof: string | undefined): void {
    this.#position.run(position ?? null, populated ? 1 : 0, proof ?? null, this.#resource);
  }

  put(key: Key, type: DeltaType, { uid, version }: Identity, text: string | null): number {
    const seq = this.#next++;
    this.#insert.run(seq, this.#resource, key, type, uid, version, text);
    return seq;
  }

  /** Replaces the object of a row, which keeps its place in the queue. */
  overwrite(seq: number, { uid, version }: Identity, text: string): void {
    this.#overwrite.run(uid, version, text, seq);
  }

  newest(key: Key): JournalRow | undefined {
    return this.#newest.get(this.#resource, key);
  }

  count(key: Key): number {
    return this.#count.get(this.#resource, key)?.count ?? 0;
  }

  /** All pending rows of a key, oldest first. */
  rows(key: Key, ceiling: number): readonly JournalRow[] {
    return this.#rows.all(this.#resource, key, ceiling);
  }

  text(seq: number): string {
    const text = this.#text.get(seq)?.text ?? undefined;
    if (text === undefined) throw this.#database.damaged(new Error(`journal row ${seq} has no text`));
    return text;
  }

  /** At most `limit` rows of the queue, oldest first, after a row or from the beginning. */
  queued(seq: number | undefined, ceiling: number, limit: number): readonly Queued[] {
    return this.#queue.all(seq ?? this.#first, ceiling, limit);
  }

  /** The keys with a row up to `seq` that have another one after it. */
  behind(seq: number, ceiling: number): readonly Key[] {
    return this.#behind.all(this.#first, seq, seq, ceiling).map(({ key }) => key);
  }

  /** Erases all rows up to `seq`. */
  eraseHead(seq: number): void {
    this.#eraseHead.run(this.#first, seq);
  }

  erase(key: Key, ceiling: number): void {
    this.#erase.run(this.#resource, key, ceiling);
  }

  /**
   * Drops rows superseded by a newer delta of the same uid, and returns how many. The oldest row stays, since it is the
   * key's place in the queue; so does the last of every uid, and the object of a tombstone.
   */
  condense(key: Key): number {
    const [, ...rows] = this.rows(key, this.#end);
    let dropped = 0;
    let next = rows.pop();
    for (const row of rows.reverse()) {
      if (next !== undefined && row.uid === next.uid && next.bytes !== null) {
        this.#eraseOne.run(row.seq);
        dropped++;
      } else next = row;
    }
    return dropped;
  }

  /** From here on, new rows are staged. */
  stage(): void {
    this.#stage.run(this.#next - 1, this.#resource);
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

  /** Marks a key as listed that needs no journal row. */
  see(key: Key): void {
    this.#see.run(this.#resource, key);
  }

  /** Stored objects in neither the current list nor the journal, after a key; "" for the first. */
  unmentionedAfter(key: Key, limit: number): readonly (Identity & { readonly key: Key })[] {
    return this.#unmentioned.all(this.#resource, key, limit);
  }

  #state(): ResourceRow {
    const row = this.#row.get(this.#resource);
    if (row === undefined) throw this.#database.damaged(new Error(`no row for resource ${this.#resource}`));
    return row;
  }

  #endStage(): void {
    this.#stage.run(null, this.#resource);
    this.#database.prepare("DELETE FROM seen WHERE resource = ?").run(this.#resource);
  }
}
