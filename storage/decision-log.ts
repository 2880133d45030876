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
  /** Set if the story has not ended. */
  readonly isOpen?: boolean;
}

/** Maximum number and total size of the stored decisions. */
export interface DecisionBound {
  readonly rows: number;
  readonly bytes: number;
}

export interface DecisionText {
  readonly text: string;
}

/** Which decisions are read. */
export interface DecisionRange {
  /** How many of the newest are left out; by default none. */
  readonly skip?: number;
  /** Whether to include those that a policy made only for comparison. */
  readonly compared?: boolean;
}

/**
 * The query for the newest decisions, which readers in other processes use as well. If they are about a board and its
 * pods, half of them are reserved for the board itself, because it may have more pods than `most`.
 */
export function newestDecisions(
  subject: string | undefined,
  most: number,
  { skip = 0, compared = false }: DecisionRange = {},
): DecisionQuery {
  const limit = Math.trunc(most);
  const from = compared ? "decisions" : `(SELECT * FROM decisions WHERE text NOT LIKE '%"compared":"%')`;
  if (subject === undefined) {
    const sql = `SELECT text FROM ${from} ORDER BY id DESC LIMIT ${limit} OFFSET ${Math.trunc(skip)}`;
    return { sql, values: [] };
  }
  const board = subject.startsWith("node/") ? subject.slice("node/".length) : null;
  const own = `SELECT id FROM ${from} WHERE subject = ? ORDER BY id DESC LIMIT ${Math.trunc(limit / 2)}`;
  const about = `SELECT id, text FROM ${from} WHERE subject = ? OR board = ? ORDER BY id IN (${own}) DESC, id DESC LIMIT ${limit}`;
  return { sql: `SELECT text FROM (${about}) ORDER BY id DESC`, values: [subject, board, subject] };
}

/** The JSON of the query's rows, oldest first. */
export const textsOf = (rows: readonly DecisionText[]): readonly string[] => rows.map(({ text }) => text).toReversed();

interface DecisionQuery {
  readonly sql: string;
  readonly values: readonly (string | null)[];
}

/** Whose stories: those of acts, or of what controllers in shadow mode would have done. */
type Book = "acts" | "shadow";

interface StoredRow {
  readonly id: number;
  readonly subject: string;
  readonly bytes: number;
  readonly isShadow: number;
}

/** The part of the bound that decisions about boards may fill before they give way to those about pods. */
const keptForBoards = 0.25;

/** In JSON, no text of a record can contain this member: its quotes would be escaped. */
const storedRows = `SELECT id, subject, bytes, text LIKE '%"shadow":true%' AS isShadow FROM decisions ORDER BY id`;

/** The decisions of this board, in state.db; some are deleted when there are too many. */
export class DecisionLog {
  readonly #database: Database;
  readonly #bound: DecisionBound;
  /** The rows of stories that had not ended at the last write of each book. */
  readonly #open = new Map<Book, ReadonlySet<number>>();
  /** The newest id that this process has given. */
  #given = 0;

  constructor(database: Database, bound: DecisionBound) {
    this.#database = database;
    this.#bound = bound;
  }

  /**
   * One transaction: stores all entries and enforces the bound. Returns the id of each entry's row. `open`: the rows of
   * stories of the book that have not ended and are not among the entries.
   */
  write(entries: readonly DecisionEntry[], open: readonly number[] = [], book: Book = "acts"): readonly number[] {
    return this.#database.transaction(() => {
      const ids = entries.map((entry) => this.#put(entry));
      this.#open.set(book, new Set([...open, ...ids.filter((_, index) => entries[index]?.isOpen)]));
      this.#makeRoom(new Set([...this.#open.values()].flatMap((rows) => [...rows])));
      return ids;
    });
  }

  /**
   * The newest decisions, oldest first: those about an object, or about a board and its pods; all decisions if
   * `subject` is undefined.
   */
  newest(subject: string | undefined, most: number, range?: DecisionRange): readonly string[] {
    const { sql, values } = newestDecisions(subject, most, range);
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
    const id = Math.max(this.#lastId(), this.#given) + 1;
    // The newest row may be deleted while its story is open, which must not then replace another one's row.
    this.#given = id;
    this.#database
      .prepare("INSERT INTO decisions (id, subject, board, bytes, text) VALUES (?, ?, ?, ?, ?)")
      .run(id, subject, board, Buffer.byteLength(text), text);
    return id;
  }

  #lastId(): number {
    return this.#database.prepare<{ id: number | null }>("SELECT max(id) AS id FROM decisions").get()?.id ?? 0;
  }

  /**
   * Deletes rows until the bound is met, each time one of the owner that takes up the most space, so that no namespace
   * displaces the decisions about the pods of another one, or about boards. Of an owner's rows, those of stories that have
   * not ended go last, but count in its share, because a tenant can have any number of pods held. Otherwise the oldest row
   * goes, of acts or of controllers in shadow mode, whichever take up more, so that neither displace the others.
   */
  #makeRoom(open: ReadonlySet<number>): void {
    let { rows, bytes } = this.usage();
    const isFull = (): boolean => rows > this.#bound.rows || (bytes > this.#bound.bytes && rows > 1);
    if (!isFull()) return;
    const stored = this.#database.prepare<StoredRow>(storedRows).all();
    const shares = sharesOf(stored, open, this.#bound);
    const remove = this.#database.prepare("DELETE FROM decisions WHERE id = ?");
    while (isFull()) {
      const row = takenFromLargest(shares);
      if (row === undefined) break;
      remove.run(row.id);
      rows -= 1;
      bytes -= row.bytes;
    }
  }
}

/** The rows of one owner: a namespace, or all boards together. */
interface Share {
  /** Size of the rows; for boards, minus the part of the bound that is reserved for them. */
  bytes: number;
  /** Those of stories that have ended, and the others; each apart for controllers in shadow mode. */
  readonly piles: readonly (readonly Pile[])[];
}

interface Pile {
  /** Oldest first. */
  readonly rows: StoredRow[];
  bytes: number;
}

function sharesOf(
  stored: readonly StoredRow[],
  open: ReadonlySet<number>,
  { bytes: bound }: DecisionBound,
): readonly Share[] {
  const byOwner = Map.groupBy(stored, ({ subject }) => {
    const [kind, namespace = ""] = subject.split("/");
    return kind === "node" ? "" : namespace;
  });
  return [...byOwner].map(([owner, rows]) => {
    const [ended, others] = [rows.filter(({ id }) => !open.has(id)), rows.filter(({ id }) => open.has(id))];
    return {
      bytes: sizeOf(rows) - (owner === "" ? keptForBoards * bound : 0),
      piles: [pilesOf(ended), pilesOf(others)],
    };
  });
}

const pilesOf = (all: readonly StoredRow[]): readonly Pile[] =>
  [...Map.groupBy(all, ({ isShadow }) => isShadow).values()].map((rows) => ({ rows, bytes: sizeOf(rows) }));

const sizeOf = (rows: readonly StoredRow[]): number => rows.reduce((sum, { bytes }) => sum + bytes, 0);

/** Takes a row of the largest share; undefined if no row is left. */
function takenFromLargest(shares: readonly Share[]): StoredRow | undefined {
  const share = largest(shares.filter(({ piles }) => piles.flat().some(hasRows)));
  const pile = share?.piles.map((tier) => largest(tier.filter(hasRows))).find((one) => one !== undefined);
  const row = pile?.rows.shift();
  if (share && pile && row) {
    share.bytes -= row.bytes;
    pile.bytes -= row.bytes;
  }
  return row;
}

const hasRows = ({ rows }: Pile): boolean => rows.length > 0;

const largest = <T extends { readonly bytes: number }>(all: readonly T[]): T | undefined =>
  all.toSorted((a, b) => b.bytes - a.bytes)[0];
