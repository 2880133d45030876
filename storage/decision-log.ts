import type { Database } from "./database/database.ts";

/** A decision to be stored. */
export interface DecisionEntry {
  /** The previous row of this decision; undefined if there is none. */
  readonly id: number | undefined;
  /** The object that it is about: node/NAME or pod/NAMESPACE/NAME. */
  readonly subject: string;
  /** The Node that it is about; for a pod, the Node of its board. */
  readonly board: string;
  /** JSON. */
  readonly text: string;
}

/** Maximum number and total size of the stored decisions. */
export interface DecisionBound {
  readonly rows: number;
  readonly bytes: number;
}

export interface DecisionText {
  readonly text: string;
}

/** The query for the newest decisions, which readers in other processes use as well. */
export function newestDecisions(subject: string | undefined, most: number): DecisionQuery {
  const board = subject?.startsWith("node/") ? subject.slice("node/".length) : null;
  const where = subject === undefined ? "" : "WHERE subject = ? OR board = ?";
  return {
    sql: `SELECT text FROM decisions ${where} ORDER BY id DESC LIMIT ${Math.trunc(most)}`,
    values: subject === undefined ? [] : [subject, board],
  };
}

/** The JSON of the query's rows, oldest first. */
export const textsOf = (rows: readonly DecisionText[]): readonly string[] => rows.map(({ text }) => text).toReversed();

interface DecisionQuery {
  readonly sql: string;
  readonly values: readonly (string | null)[];
}

/** The decisions of this board, in state.db; the oldest are deleted when there are too many. */
export class DecisionLog {
  readonly #database: Database;
  readonly #bound: DecisionBound;

  constructor(database: Database, bound: DecisionBound) {
    this.#database = database;
    this.#bound = bound;
  }

  /** One transaction: stores all entries and enforces the bound. Returns the id of each entry's row. */
  write(entries: readonly DecisionEntry[]): readonly number[] {
    return this.#database.transaction(() => {
      const ids = entries.map((entry) => this.#put(entry));
      this.#makeRoom();
      return ids;
    });
  }

  /**
   * The newest decisions, oldest first: those about an object, or about a board and its pods; all decisions if
   * `subject` is undefined.
   */
  newest(subject: string | undefined, most: number): readonly string[] {
    const { sql, values } = newestDecisions(subject, most);
    return textsOf(this.#database.prepareOnce<DecisionText>(sql).all(...values));
  }

  usage(): DecisionBound {
    const row = this.#database
      .prepare<{ rows: number; bytes: number | null }>("SELECT count(*) AS rows, sum(bytes) AS bytes FROM decisions")
      .get();
    return { rows: row?.rows ?? 0, bytes: row?.bytes ?? 0 };
  }

  /** A changed decision moves to the end, because it is now the latest, and so is not among the first to be deleted. */
  #put({ id: former, subject, board, text }: DecisionEntry): number {
    if (former !== undefined) this.#database.prepare("DELETE FROM decisions WHERE id = ?").run(former);
    const id = this.#lastId() + 1;
    this.#database
      .prepare("INSERT INTO decisions (id, subject, board, bytes, text) VALUES (?, ?, ?, ?, ?)")
      .run(id, subject, board, Buffer.byteLength(text), text);
    return id;
  }

  #lastId(): number {
    return this.#database.prepare<{ id: number | null }>("SELECT max(id) AS id FROM decisions").get()?.id ?? 0;
  }

  #makeRoom(): void {
    let { rows, bytes } = this.usage();
    const oldest = this.#database.prepare<{ id: number; bytes: number }>(
      "SELECT id, bytes FROM decisions ORDER BY id LIMIT 1",
    );
    const remove = this.#database.prepare("DELETE FROM decisions WHERE id = ?");
    while (rows > this.#bound.rows || (bytes > this.#bound.bytes && rows > 1)) {
      const row = oldest.get();
      if (row === undefined) return;
      remove.run(row.id);
      rows -= 1;
      bytes -= row.bytes;
    }
  }
}
