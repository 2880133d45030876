import { Database, type Pragmas } from "../../../storage/database/database.ts";
import type { SqlValue } from "../../../storage/database/statement.ts";
import { cacheMigrations, stateMigrations } from "../../../storage/schema.ts";
import type { StateFolder } from "../../../storage/state-folder.ts";

/** Databases in memory. */
export const fastPragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 256,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 4096,
};

/** The state of cache.db after a power cut: complete, rolled back, or unreadable. */
export type CacheLoss = "none" | "recent" | "all";

type Rows = readonly { readonly table: string; readonly rows: readonly Readonly<Record<string, SqlValue>>[] }[];

/**
 * A board's state folder in memory. state.db keeps every committed transaction; cache.db, which is not synced with every
 * commit, may lose the last transactions in a power cut. A process loses its memory; the next one opens the same databases
 * again.
 */
export class BoardStorage {
  readonly #state: Database;
  #cache: Database;
  #earlier: Rows = [];
  #changes = -1;

  constructor() {
    this.#state = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas: fastPragmas });
    this.#cache = openCache();
  }

  folder(): Pick<StateFolder, "state" | "cache" | "obstacle" | "room"> {
    const state = { database: this.#state, setAside: undefined };
    const cache = { database: this.#cache, rebuilt: undefined };
    return { state, cache, obstacle: () => undefined, room: () => undefined };
  }

  get state(): Database {
    return this.#state;
  }

  get cache(): Database {
    return this.#cache;
  }

  /** Marks the cache's current state as synced. */
  checkpoint(): void {
    const { changes = 0 } = this.#cache.prepare<{ changes: number }>("SELECT total_changes() AS changes").get() ?? {};
    if (changes === this.#changes) return;
    this.#changes = changes;
    this.#earlier = rowsOf(this.#cache);
  }

  losePower(loss: CacheLoss): void {
    if (loss === "none") return;
    this.#cache.closeWithoutCheckpoint();
    this.#cache = openCache();
    this.#changes = -1;
    if (loss === "recent") putRows(this.#cache, this.#earlier);
  }

  close(): void {
    this.#state.closeWithoutCheckpoint();
    this.#cache.closeWithoutCheckpoint();
  }
}

const openCache = (): Database =>
  Database.open({ file: ":memory:", migrations: cacheMigrations, pragmas: fastPragmas });

function rowsOf(database: Database): Rows {
  const tables = database
    .prepare<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  return tables.map(({ name }) => ({
    table: name,
    rows: database.prepare<Record<string, SqlValue>>(`SELECT * FROM ${name}`).all(),
  }));
}

function putRows(database: Database, tables: Rows): void {
  database.transaction(() => {
    for (const { table, rows } of tables) {
      for (const row of rows) {
        const columns = Object.keys(row);
        const names = columns.map((column) => `"${column}"`).join(", ");
        const marks = columns.map(() => "?").join(", ");
        database.prepare(`INSERT INTO ${table} (${names}) VALUES (${marks})`).run(...Object.values(row));
      }
    }
  });
}
