import type { Database } from "./database/database.ts";
import type { SqlValue } from "./database/statement.ts";

/** A b-tree of the file: a table, or an index of one. */
interface Tree {
  readonly name: string;
  /** The columns that the entries are sorted by. Together they are unique. */
  readonly keys: readonly string[];
  /** At most `most` entries after the one with the key `after`, or from the first one if undefined. */
  select(after: readonly SqlValue[] | undefined, most: number): readonly Entry[];
}

type Entry = Readonly<Record<string, SqlValue>>;

/** In every table, the column of this name holds JSON. */
const jsonColumn = "text";
/** Name of the computed column that is 0 if a row's JSON cannot be parsed. */
const isValidJson = "is valid JSON";

/**
 * Reads every row and every index entry in order, a few per step: `next(n)` reads n entries. A step throws a
 * StorageError if SQLite finds malformed content, the disk cannot be read, or an entry is not in sorted order. Writes
 * are allowed between two steps.
 *
 * SQLite's own quick_check finds slightly more (orphaned pages, the end of a long value), but cannot be interrupted,
 * and takes a second for 10 MB on an SD card.
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
  if (row[isValidJson] === 0) throw database.damaged(new Error(`${tree.name} contains JSON that cannot be parsed`));
  if (after !== undefined && !isBehind(key, after))
    throw database.damaged(new Error(`the entries of ${tree.name} are not in order`));
  return key;
}

/** True if `key` comes after `after` in SQLite's order: numbers before strings, strings byte by byte. */
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
    .prepareOnce<{ name: string; wr: number }>(
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all();
  for (const { name, wr } of tables) {
    const columns = database
      .prepareOnce<{ name: string; pk: number; notnull: number }>(
        `SELECT name, pk, "notnull" FROM pragma_table_info(?)`,
      )
      .all(name);
    const keys = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    const primaryKey = wr === 1 ? keys.map((column) => column.name) : ["rowid"];
    yield treeOf(database, { name, table: name, keys: primaryKey, read: columns.map((column) => column.name) });
    yield* indexesOf(database, { name, columns, primaryKey });
  }
}

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly notnull: number }[];
  readonly primaryKey: readonly string[];
}

/**
 * The indexes made by CREATE INDEX. Those with nullable columns are left out, because a walk cannot resume after a
 * NULL.
 */
function* indexesOf(database: Database, { name: table, columns, primaryKey }: Table): Generator<Tree> {
  const notNull = new Set(columns.filter(({ notnull }) => notnull === 1).map(({ name }) => name));
  const indexes = database
    .prepareOnce<{ name: string }>(
      "SELECT name FROM pragma_index_list(?) WHERE origin = 'c' AND partial = 0 ORDER BY name",
    )
    .all(table);
  for (const { name } of indexes) {
    const parts = database
      .prepareOnce<{ name: string | null }>("SELECT name FROM pragma_index_info(?) ORDER BY seqno")
      .all(name)
      .map((part) => part.name ?? "");
    if (!parts.every((part) => notNull.has(part))) continue;
    const keys = [...new Set([...parts, ...primaryKey])];
    yield treeOf(database, { name, table, keys, read: [], index: name });
  }
}

function treeOf(
  database: Database,
  of: {
    readonly name: string;
    readonly table: string;
    readonly keys: readonly string[];
    /** Columns whose values are read in full, including those that span several pages. */
    readonly read: readonly string[];
    /** The index to walk; undefined for the table itself. */
    readonly index?: string;
  },
): Tree {
  const keys = of.keys.map(quoted).join(", ");
  const named = of.keys.map((name) => `${quoted(name)} AS "${name}"`);
  // SQLite reads a string to its end to compute its length.
  const lengths = of.read.map((column) => `length(${quoted(column)})`);
  const what = lengths.length === 0 ? [...named] : [...named, `max(0, ${lengths.join(", ")}) AS size`];
  if (of.read.includes(jsonColumn)) what.push(`json_valid(${quoted(jsonColumn)}) AS ${quoted(isValidJson)}`);
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
      after === undefined
        ? database.prepareOnce<Entry>(first).all(most)
        : database.prepareOnce<Entry>(further).all(...after, most),
  };
}

const quoted = (name: string): string => (name === "rowid" ? name : `"${name.replaceAll('"', '""')}"`);
