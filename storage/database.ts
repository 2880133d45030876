import { statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { isOfSqlite, kindOf, StorageError } from "./errors.ts";
import { namesIn, shapeAfter, shapeOf } from "./shape.ts";
import { Statement } from "./statement.ts";

/** The part of the binding that we use. */
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
 * Steps are numbered from 1 without gaps; a file stores the number of its last step (`user_version`).
 *
 * A step that only adds tables may set `readableFrom`, the oldest format whose programs can still use the file. It is
 * kept in the upper half of `user_version`, so that an older program accepts such a file and leaves the new tables
 * alone. 0: only programs that know this step can use the file.
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
  /** The program may delete a damaged disposable file; any other is left to an operator. Default: true. */
  readonly disposable?: boolean;
  /** No other process may open the file, even to read, until this one closes it or ends, however it ends. */
  readonly exclusive?: boolean;
}

/** In bytes. */
export interface Sizes {
  readonly file: number;
  readonly wal: number;
}

/** In milliseconds. Everything here is synchronous and blocks the one thread, so waits for foreign locks stay short. */
const lockTimeout = 250;

/** Marks a file as ours. */
const applicationId = 0x73697465;

/** Upper bound of format numbers. */
const formats = 2 ** 16;

/**
 * In bytes; about the size of an object, because each change writes whole pages, to the log and from there to the file.
 */
export const pageSize = 1024;

/** One SQLite file in WAL mode. Every error of the binding that concerns the file comes out as a StorageError. */
export class Database {
  readonly #driver: SqliteDriver;
  readonly #options: DatabaseOptions;
  readonly #statements = new Map<string, Statement<unknown>>();
  #depth = 0;
  /** Errors thrown inside calls that joined the current transaction. */
  readonly #failures: unknown[] = [];
  /** The file was checked after an unforeseen error and is sound: the error is a bug of ours. */
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
   * Prepares a statement once per text. `Row` is the type that the text selects: callers keep SQL and type side by
   * side, and only our own code writes the rows.
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

  /** Like `prepare`, for queries too rare to be worth a cached statement. */
  fresh<Row = unknown>(sql: string): Statement<Row> {
    return new Statement(
      this.#guard(() => this.#driver.prepare(sql)),
      (error) => this.#translated(error),
    );
  }

  /**
   * Runs all of `work` or nothing. A call inside another one joins it: if the inner part fails, the whole is rolled
   * back, even when the outer part catches the error.
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
      // SQLite rolls back by itself after some errors, a full disk among them.
      if (this.#driver.inTransaction) this.#run("ROLLBACK");
      throw error;
    } finally {
      this.#depth = 0;
    }
  }

  /** Frees cached pages. */
  shrink(): void {
    this.#exec("PRAGMA shrink_memory");
  }

  /** Acquires and releases the writer's lock; writes nothing. Throws if no change could be committed now. */
  probe(): void {
    this.transaction(() => undefined);
  }

  /** Copies the WAL into the file and empties it. A reader in another process can keep part of it alive. */
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

  /** Closes a file that is not worth a checkpoint, or on which one would fail. */
  abandon(): void {
    this.#statements.clear();
    this.#guard(() => this.#driver.close());
  }

  sizes(): Sizes {
    return { file: sizeOf(this.file), wal: sizeOf(`${this.file}-wal`) };
  }

  /** Reads the whole file. Returns the first problem in SQLite's words; throws if the file cannot be checked. */
  firstProblem(): string | undefined {
    const found = this.#driver.prepare("PRAGMA quick_check(1)").all() as readonly { readonly quick_check: string }[];
    const text = found[0]?.quick_check;
    return text === "ok" ? undefined : (text ?? "it cannot be checked");
  }

  /** The error for content that we cannot have written. */
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

  /** Forward only; each step and its number are one transaction. */
  #migrate(): void {
    const { migrations } = this.#options;
    const known = migrations.at(-1)?.number ?? 0;
    const { format: found, readableFrom } = this.#version();
    this.#checkOwner(found);
    if (found > known && (readableFrom === 0 || readableFrom > known)) throw this.#tooNew(found, known);
    for (const { number, sql, readableFrom: oldest = 0 } of migrations) {
      if (number <= found) continue;
      this.transaction(() => {
        // Another process may have been faster.
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
    // Checkpoint, so that the format does not depend on the log.
    if (found < known) this.checkpoint();
  }

  /** Never migrate a database of another program, wherever it lies. */
  #checkOwner(version: number): void {
    const id = this.prepare<{ application_id: number }>("PRAGMA application_id").get()?.application_id ?? 0;
    const isForeign = id !== applicationId && id !== 0;
    if (isForeign || (version === 0 && this.#guard(() => shapeOf(this.#driver)).length > 0)) {
      throw this.#error("damaged", new Error("it belongs to another program"));
    }
  }

  /**
   * A newer version of ours shares at least one table with us; with none in common it is the wrong one of our files.
   */
  #tooNew(found: number, latest: number): StorageError {
    const known = namesIn(shapeAfter(this.#options.migrations));
    const tables = namesIn(this.#guard(() => shapeOf(this.#driver)));
    if (tables.length > 0 && !tables.some((name) => known.includes(name))) {
      return this.#error("damaged", new Error("it holds something else than it should"));
    }
    return this.#error("newer", new Error(`it has format ${found}, this version knows ${latest}`));
  }

  /** A log of another file, or manual changes, can leave tables that are not ours. */
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

  /** Damage shows in many ways, such as a missing table or a duplicate key. Reads the whole file, once. */
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
    // Any error here concerns the path; the binding reports a missing folder without a code.
    throw new StorageError(kindOf(error) ?? "io", { file, cause: error, disposable: disposable ?? true });
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
