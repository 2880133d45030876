import type { Database, SqlValue } from "./database.ts";

/** A b-tree of the file: a table, or an index of one. */
interface Tree {
  readonly name: string;
  /** The columns that its entries are sorted by; unique together. */
  readonly keys: readonly string[];
  /** Reads on after `after`. */
  select(after: readonly SqlValue[] | undefined, most: number): readonly Entry[];
}

type Entry = Readonly<Record<string, SqlValue>>;

/** Column of a row: 0 if its document cannot be parsed. In all tables the column `text` is JSON. */
const soundness = "is sound";
const documents = "text";

/**
 * Reads every row and every index entry in order, a few per step. A step throws a StorageError when SQLite finds
 * something malformed, the medium cannot be read, or an entry is out of order. `next(n)`: read n of them now. Writes
 * are allowed between two steps.
 *
 * SQLite's own quick_check finds a little more (orphaned pages, the end of a long value), but runs in one go, which
 * takes a second for 10 MB on a card.
 */
export function* fileWalk(database: Database): Generator<{ readonly tree: string }, void, number> {
  let most = yield { tree: "" };
  for (const tree of treesOf(database)) {
    let after: readonly SqlValue[] | undefined;
    for (;;) {
      const rows = tree.select(after, most);
      for (const row of rows) after = checked(database, tree, row, after);
      if (rows.length < most) break;
      most = yield { tree: tree.name };
    }
  }
}

function checked(
  database: Database,
  tree: Tree,
  row: Entry,
  after: readonly SqlValue[] | undefined,
): readonly SqlValue[] {
  const key = tree.keys.map((name) => row[name] ?? null);
  if (row[soundness] === 0) throw database.damaged(new Error(`${tree.name} holds a text that is cut or overwritten`));
  if (after !== undefined && !isBehind(key, after)) throw database.damaged(new Error(`${tree.name} is out of order`));
  return key;
}

/** In SQLite's order: numbers before texts, texts byte by byte. */
function isBehind(key: readonly SqlValue[], after: readonly SqlValue[]): boolean {
  for (const [at, value] of key.entries()) {
    const order = compared(value, after[at] ?? null);
    if (order !== 0) return order > 0;
  }
  return false;
}

function compared(a: SqlValue, b: SqlValue): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return rankOf(a) - rankOf(b);
}

const rankOf = (value: SqlValue): number => (value === null ? 0 : typeof value === "number" ? 1 : 2);

function* treesOf(database: Database): Generator<Tree> {
  const tables = database
    .fresh<{ name: string; wr: number }>(
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all();
  for (const { name, wr } of tables) {
    const columns = database
      .fresh<{ name: string; pk: number; notnull: number }>(`SELECT name, pk, "notnull" FROM pragma_table_info(?)`)
      .all(name);
    const keys = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    const own = wr === 1 ? keys.map((column) => column.name) : ["rowid"];
    yield treeOf(database, { name, table: name, keys: own, read: columns.map((column) => column.name) });
    yield* indexesOf(database, { name, columns, own });
  }
}

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly notnull: number }[];
  readonly own: readonly string[];
}

/** Yields explicitly created indexes. An index with nullable columns has no order in which a walk could resume. */
function* indexesOf(database: Database, { name: table, columns, own }: Table): Generator<Tree> {
  const certain = new Set(columns.filter(({ notnull }) => notnull === 1).map(({ name }) => name));
  const indexes = database
    .fresh<{ name: string }>("SELECT name FROM pragma_index_list(?) WHERE origin = 'c' AND partial = 0 ORDER BY name")
    .all(table);
  for (const { name } of indexes) {
    const parts = database
      .fresh<{ name: string | null }>("SELECT name FROM pragma_index_info(?) ORDER BY seqno")
      .all(name)
      .map((part) => part.name ?? "");
    if (!parts.every((part) => certain.has(part))) continue;
    const keys = [...new Set([...parts, ...own])];
    yield treeOf(database, { name, table, keys, read: [], index: name });
  }
}

function treeOf(
  database: Database,
  of: {
    readonly name: string;
    readonly table: string;
    readonly keys: readonly string[];
    /** Columns to read to their end, over all their pages. */
    readonly read: readonly string[];
    readonly index?: string;
  },
): Tree {
  const keys = of.keys.map(quoted).join(", ");
  const named = of.keys.map((name) => `${quoted(name)} AS "${name}"`);
  // Computing a text's length reads it to its end.
  const lengths = of.read.map((column) => `length(${quoted(column)})`);
  const what = lengths.length === 0 ? [...named] : [...named, `max(0, ${lengths.join(", ")}) AS size`];
  if (of.read.includes(documents)) what.push(`json_valid(${quoted(documents)}) AS ${quoted(soundness)}`);
  const through = of.index === undefined ? "NOT INDEXED" : `INDEXED BY ${quoted(of.index)}`;
  const text = `SELECT ${what.join(", ")} FROM ${quoted(of.table)} ${through}`;
  const places = of.keys.map(() => "?").join(", ");
  const [first, further] = [
    `${text} ORDER BY ${keys} LIMIT ?`,
    `${text} WHERE (${keys}) > (${places}) ORDER BY ${keys} LIMIT ?`,
  ];
  return {
    name: of.name,
    keys: of.keys,
    select: (after, most) =>
      after === undefined ? database.fresh<Entry>(first).all(most) : database.fresh<Entry>(further).all(...after, most),
  };
}

const quoted = (name: string): string => (name === "rowid" ? name : `"${name.replaceAll('"', '""')}"`);
