import { statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { kindOf, StorageError } from "../errors.ts";
import { type DatabaseFile, ErrorTranslator, firstProblem } from "./error-translator.ts";
import { hasSchema, migrate } from "./migrations.ts";
import { type SqliteDriver, Statement } from "./statement.ts";

export interface Pragmas {
  readonly synchronous: "NORMAL" | "FULL";
  readonly cacheKiB: number;
  readonly mmapMiB: number;
  readonly walAutocheckpointPages: number;
  readonly journalSizeLimitKiB: number;
}

export interface DatabaseOptions extends DatabaseFile {
  readonly pragmas: Pragmas;
}

/** Sizes of the database file and of its write-ahead log, in bytes. */
export interface Sizes {
  readonly file: number;
  readonly wal: number;
}

/**
 * How long to wait for another process's lock, in milliseconds; short, because the wait blocks the agent's only thread.
 */
const lockTimeout = 250;

/**
 * The page size in bytes. About the size of an object, because each change writes whole pages, first to the log and
 * then to the file.
 */
export const pageSize = 1024;

/** One SQLite file in WAL mode. Errors caused by the file are thrown as StorageErrors. */
export class Database {
  readonly #driver: SqliteDriver;
  readonly #options: DatabaseOptions;
  readonly #errors: ErrorTranslator;
  /**
   * By SQL string. The map cannot grow without limit, because every string given to `prepare` is a constant: values are
   * bound as parameters, and SQL composed for a particular file goes to `prepareOnce`.
   */
  readonly #statements = new Map<string, Statement<unknown>>();
  #inTransaction = false;
  /** The first error in a joined call of `transaction`, which forces the outer one to roll back. */
  #failure: { readonly error: unknown } | undefined;

  private constructor(driver: SqliteDriver, options: DatabaseOptions) {
    this.#driver = driver;
    this.#options = options;
    this.#errors = new ErrorTranslator(driver, options);
  }

  /** Opens or creates the file and brings its tables up to date. */
  static open(options: DatabaseOptions): Database {
    const database = new Database(openDriver(options), options);
    try {
      database.#configure();
      database.#migrate();
      database.#checkSchema();
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
    return this.#inTransaction;
  }

  /**
   * Prepares a statement, once per SQL string. `Row` is the type of the rows that it selects; `statements.test.ts`
   * compares its fields with the columns of each statement.
   */
  prepare<Row = unknown>(sql: string): Statement<Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.prepareOnce(sql);
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Row>;
  }

  /** Like `prepare`, but does not keep the statement; for rare or composed SQL. */
  prepareOnce<Row = unknown>(sql: string): Statement<Row> {
    return new Statement(
      this.#errors.translating(() => this.#driver.prepare(sql)),
      (error) => this.#errors.toStorageError(error),
    );
  }

  /**
   * Runs `work` in a transaction. A call inside another one joins the outer transaction, so if the inner work fails,
   * everything is rolled back, even if the outer work catches the error.
   */
  transaction<T>(work: () => T): T {
    if (this.#inTransaction) return this.#joined(work);
    this.#run("BEGIN IMMEDIATE");
    this.#inTransaction = true;
    try {
      const result = work();
      if (result instanceof Promise) throw new TypeError("a transaction cannot wait for a promise");
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#run("COMMIT");
      return result;
    } catch (error) {
      // SQLite rolls back automatically after some errors, such as a full disk.
      if (this.#driver.inTransaction) this.#run("ROLLBACK");
      throw error;
    } finally {
      this.#inTransaction = false;
      this.#failure = undefined;
    }
  }

  /** Frees the memory of cached pages. */
  shrink(): void {
    this.#exec("PRAGMA shrink_memory");
  }

  /** Throws if nothing can be committed now. Acquires and releases the write lock without writing anything. */
  checkWritable(): void {
    this.transaction(() => undefined);
  }

  /** Copies the log into the file and empties it, except for parts that a reader in another process still uses. */
  checkpoint(): void {
    this.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  }

  /** Checkpoints and closes the file. */
  close(): void {
    try {
      this.checkpoint();
    } finally {
      this.closeWithoutCheckpoint();
    }
  }

  /** Closes the file without a checkpoint, because it is no longer needed, or a checkpoint would fail. */
  closeWithoutCheckpoint(): void {
    this.#statements.clear();
    this.#errors.translating(() => this.#driver.close());
  }

  sizes(): Sizes {
    return { file: sizeOf(this.file), wal: sizeOf(`${this.file}-wal`) };
  }

  /** Checks the whole file. Returns the first problem in SQLite's words; throws if the file cannot be checked. */
  firstProblem(): string | undefined {
    return firstProblem(this.#driver);
  }

  /** The error for content that this program cannot have written. */
  damaged(cause: unknown): StorageError {
    return this.#errors.error("damaged", cause);
  }

  #joined<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  #configure(): void {
    const { synchronous, cacheKiB, mmapMiB, walAutocheckpointPages, journalSizeLimitKiB } = this.#options.pragmas;
    // Set before the journal mode, so that setting the mode takes the lock immediately and needs no shared memory.
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

  #migrate(): void {
    const isChanged = this.#errors.translating(() =>
      migrate(
        {
          driver: this.#driver,
          transaction: (work) => this.transaction(work),
          error: (kind, cause) => this.#errors.error(kind, cause),
        },
        this.#options.migrations,
      ),
    );
    // Otherwise, the migration would exist only in the WAL file and be lost with it.
    if (isChanged) this.checkpoint();
  }

  /** Throws unless the tables are those that the migrations create. */
  #checkSchema(): void {
    if (this.#errors.translating(() => hasSchema(this.#driver, this.#options.migrations))) return;
    throw this.damaged(new Error("its tables are not those that this version creates"));
  }

  #run(sql: string): void {
    this.prepare(sql).run();
  }

  #exec(sql: string): void {
    this.#errors.translating(() => this.#driver.exec(sql));
  }
}

function openDriver({ file, disposable }: DatabaseOptions): SqliteDriver {
  try {
    return new Sqlite(file, { timeout: lockTimeout });
  } catch (error) {
    // Regardless of the error, the path is at fault, because the binding reports a missing folder without a code.
    throw new StorageError(kindOf(error) ?? "io", { file, cause: error, disposable: disposable ?? true });
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
