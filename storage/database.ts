import { statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { isOfSqlite, kindOf, StorageError } from "./errors.ts";
import { namesIn, shapeAfter, shapeOf } from "./shape.ts";
import { Statement } from "./statement.ts";

/** What we use of the binding. */
export interface SqliteDriver {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

export interface SqliteStatement {
  get(...values: readonly SqlValue[]): unknown;
  all(...values: readonly SqlValue[]): unknown[];
  run(...values: readonly SqlValue[]): { readonly changes: number };
}

export type SqlValue = string | number | null;

/**
 * Steps are numbered from 1 without gaps; a file remembers the number of the last one it took (`user_version`).
 *
 * A step that only adds tables says from which format on a program can still use the file: `readableFrom`. The upper half
 * of `user_version` keeps that, so that an older program leaves alone what it does not know. 0: just those that know it.
 */
export interface Migration {
  readonly number: number;
  readonly sql: string;
  readonly readableFrom?: number;
}

export interface Pragmas {
  readonly synchronous: "NORMAL" | "FULL";
  readonly cacheKiB: number;
  readonly mmapMiB: number;
  readonly walAutocheckpointPages: number;
  readonly journalSizeLimitKiB: number;
}

export interface DatabaseOptions {
  /** A path, or ":memory:". */
  readonly file: string;
  readonly migrations: readonly Migration[];
  readonly pragmas: Pragmas;
  /** A damaged disposable file may be thrown away by the program; any other is left to a person. Default: true. */
  readonly disposable?: boolean;
  /** No other process may have the file open, not even to read, until this one closes it or ends, however it ends. */
  readonly exclusive?: boolean;
}

/** In bytes. */
export interface Sizes {
  readonly file: number;
  readonly wal: number;
}

/** Everything here is synchronous and blocks the one thread, so a foreign lock is not waited for at length. */
const lockTimeout = 250;

/** By this a file says whose it is. */
const applicationId = 0x73697465;

/** There are fewer formats than this. */
const formats = 2 ** 16;

/** As small as an object is: what is written for a change is whole pages, into the log and from there into the file. */
export const pageSize = 1024;

/** One SQLite file in WAL mode. Every error of the binding that concerns the file comes out as a StorageError. */
export class Database {
  readonly #driver: SqliteDriver;
  readonly #options: DatabaseOptions;
  readonly #statements = new Map<string, Statement<unknown>>();
  #depth = 0;
  /** What failed inside calls that joined the transaction under way. */
  readonly #failures: unknown[] = [];
  /** It was looked through after an error that had not been foreseen, and is sound: the error is a bug of ours. */
  #isSound = false;

  private constructor(driver: SqliteDriver, options: DatabaseOptions) {
    this.#driver = driver;
    this.#options = options;
  }

  /** Opens or creates the file and brings its tables up to date. */
  static open(options: DatabaseOptions): Database {
    const database = new Database(openDriver(options), options);
    try {
      database.#configure();
      database.#migrate();
      database.#guard(() => database.#checkShape());
    } catch (error) {
      database.#driver.close();
      throw error;
    }
    return database;
  }

  get file(): string {
    return this.#options.file;
  }

  get inTransaction(): boolean {
    return this.#depth > 0;
  }

  /**
   * A statement is prepared once per text. `Row` is what the text selects: SQL and type stand side by side where this is
   * called, and nobody but us writes the rows.
   */
  prepare<Row = unknown>(sql: string): Statement<Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#guard(() => this.#driver.prepare(sql));
      statement = new Statement(prepared, (error) => this.#translated(error));
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row>;
  }

  /** The same for what is asked so rarely that it is not worth the memory of a prepared statement. */
  fresh<Row = unknown>(sql: string): Statement<Row> {
    return new Statement(
      this.#guard(() => this.#driver.prepare(sql)),
      (error) => this.#translated(error),
    );
  }

  /**
   * All of `work` or nothing. A call inside another one joins it: if the inner part fails, the whole is rolled back, also
   * when the outer part catches the error.
   */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return this.#joined(work);
    this.#run("BEGIN IMMEDIATE");
    this.#depth = 1;
    this.#failures.length = 0;
    try {
      const result = work();
      if (result instanceof Promise) throw new TypeError("a transaction cannot wait for a promise");
      if (this.#failures.length > 0) throw this.#failures[0];
      this.#run("COMMIT");
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors, a full disk among them.
      if (this.#driver.inTransaction) this.#run("ROLLBACK");
      throw error;
    } finally {
      this.#depth = 0;
    }
  }

  /** Lets go of the pages that are kept in memory. */
  shrink(): void {
    this.#exec("PRAGMA shrink_memory");
  }

  /** Takes the lock of a writer and gives it back: writes nothing. Throws where no change could be committed now. */
  probe(): void {
    this.transaction(() => undefined);
  }

  /** Copies the WAL into the file and empties it. A reader in another process can keep a part of it alive. */
  checkpoint(): void {
    this.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  }

  close(): void {
    try {
      this.checkpoint();
    } finally {
      this.abandon();
    }
  }

  /** Lets go of a file that is not worth a checkpoint, or in which one would fail. */
  abandon(): void {
    this.#statements.clear();
    this.#guard(() => this.#driver.close());
  }

  sizes(): Sizes {
    return { file: sizeOf(this.file), wal: sizeOf(`${this.file}-wal`) };
  }

  /** Reads the whole file. What it finds wrong, in SQLite's words; throws where even that cannot be found out. */
  firstProblem(): string | undefined {
    const found = this.#driver.prepare("PRAGMA quick_check(1)").all() as readonly { readonly quick_check: string }[];
    const text = found[0]?.quick_check;
    return text === "ok" ? undefined : (text ?? "it cannot be checked");
  }

  /** The error for something in the file that cannot be what we wrote. */
  damaged(cause: unknown): StorageError {
    return this.#error("damaged", cause);
  }

  #joined<T>(work: () => T): T {
    this.#depth++;
    try {
      return work();
    } catch (error) {
      this.#failures.push(error);
      throw error;
    } finally {
      this.#depth--;
    }
  }

  #configure(): void {
    const { synchronous, cacheKiB, mmapMiB, walAutocheckpointPages, journalSizeLimitKiB } = this.#options.pragmas;
    // Before the journal mode: then the very next statement takes the lock, and no shared memory is needed.
    if (this.#options.exclusive) this.#exec("PRAGMA locking_mode = EXCLUSIVE");
    for (const pragma of [
      `page_size = ${pageSize}`,
      "journal_mode = WAL",
      `synchronous = ${synchronous}`,
      `cache_size = ${-cacheKiB}`,
      `mmap_size = ${mmapMiB * 1024 * 1024}`,
      `wal_autocheckpoint = ${walAutocheckpointPages}`,
      `journal_size_limit = ${journalSizeLimitKiB * 1024}`,
    ]) {
      this.#exec(`PRAGMA ${pragma}`);
    }
  }

  /** Forward only, each step in a transaction of its own together with its number. */
  #migrate(): void {
    const { migrations } = this.#options;
    const known = migrations.at(-1)?.number ?? 0;
    const { format: found, readableFrom } = this.#version();
    this.#checkOwner(found);
    if (found > known && (readableFrom === 0 || readableFrom > known)) throw this.#tooNew(found, known);
    for (const { number, sql, readableFrom: oldest = 0 } of migrations) {
      if (number <= found) continue;
      this.transaction(() => {
        // Another process may have been quicker.
        if (this.#version().format >= number) return;
        try {
          this.#driver.exec(sql);
        } catch (error) {
          // A file without our number that has tables of its own: a database, but not ours.
          throw kindOf(error) === undefined ? this.#error("damaged", error) : this.#translated(error);
        }
        this.#exec(`PRAGMA application_id = ${applicationId}`);
        this.#exec(`PRAGMA user_version = ${oldest * formats + number}`);
      });
    }
    // The format is in the file itself from now on, whatever becomes of its log.
    if (found < known) this.checkpoint();
  }

  /** What another program made is not ours to put tables into, wherever it lies. */
  #checkOwner(version: number): void {
    const id = this.prepare<{ application_id: number }>("PRAGMA application_id").get()?.application_id ?? 0;
    const isForeign = id !== applicationId && id !== 0;
    if (isForeign || (version === 0 && this.#guard(() => shapeOf(this.#driver)).length > 0)) {
      throw this.#error("damaged", new Error("it belongs to another program"));
    }
  }

  /** A newer version of us has one table at least of those that we know; ours, with other tables: the wrong one of our files. */
  #tooNew(found: number, latest: number): StorageError {
    const known = namesIn(shapeAfter(this.#options.migrations));
    const tables = namesIn(this.#guard(() => shapeOf(this.#driver)));
    if (tables.length > 0 && !tables.some((name) => known.includes(name))) {
      return this.#error("damaged", new Error("it holds something else than it should"));
    }
    return this.#error("newer", new Error(`it has format ${found}, this version knows ${latest}`));
  }

  /** A log that belongs to another file, or somebody's hand, can leave tables that are not ours. */
  #checkShape(): void {
    const { migrations } = this.#options;
    const [wanted, found] = [shapeAfter(migrations), shapeOf(this.#driver)];
    const isNewer = this.#version().format > (migrations.at(-1)?.number ?? 0);
    const isOurs = isNewer ? wanted.every((table) => found.includes(table)) : wanted.join() === found.join();
    if (!isOurs) throw this.#error("damaged", new Error("its tables are not those it should have"));
  }

  #version(): { readonly format: number; readonly readableFrom: number } {
    const version = this.prepare<{ user_version: number }>("PRAGMA user_version").get()?.user_version ?? 0;
    return { format: version % formats, readableFrom: Math.floor(version / formats) };
  }

  #run(sql: string): void {
    this.prepare(sql).run();
  }

  #exec(sql: string): void {
    this.#guard(() => this.#driver.exec(sql));
  }

  #guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw this.#translated(error);
    }
  }

  #translated(error: unknown): unknown {
    const kind = kindOf(error);
    if (kind !== undefined) return this.#error(kind, error);
    return isOfSqlite(error) && !this.#examine() ? this.#error("damaged", error) : error;
  }

  /** Damage shows in many ways: as a table that is not there, as a key that is there twice. Reads the whole file, once. */
  #examine(): boolean {
    if (this.#isSound) return true;
    try {
      this.#checkShape();
      this.#isSound = this.firstProblem() === undefined;
    } catch {
      return false;
    }
    return this.#isSound;
  }

  #error(kind: StorageError["kind"], cause: unknown): StorageError {
    const { disposable = true, exclusive = false } = this.#options;
    const hint = kind === "busy" && exclusive ? { hint: lockedHint } : {};
    return new StorageError(kind, { file: this.file, cause, disposable, ...hint });
  }
}

const lockedHint =
  "Another agent runs with this state folder: stop it, or give this one a folder of its own (state.folder).";

function openDriver({ file, disposable }: DatabaseOptions): SqliteDriver {
  try {
    return new Sqlite(file, { timeout: lockTimeout });
  } catch (error) {
    // Whatever goes wrong here concerns the path; the binding reports a missing folder without a code.
    throw new StorageError(kindOf(error) ?? "io", { file, cause: error, disposable: disposable ?? true });
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
