import { isOfSqlite, kindOf, StorageError } from "../errors.ts";
import { hasSchema, type Migration } from "./migrations.ts";
import type { SqliteDriver } from "./statement.ts";

export interface DatabaseFile {
  /** A path, or ":memory:". */
  readonly file: string;
  readonly migrations: readonly Migration[];
  /** Whether the program may delete the file if it is damaged; otherwise an operator decides. Default: true. */
  readonly disposable?: boolean;
  /**
   * Whether no other process can open the file, not even for reading, until this one closes it or ends. Default: false.
   */
  readonly exclusive?: boolean;
}

/**
 * Translates errors of the SQLite binding into StorageErrors; checks the file if an error may mean that it is damaged.
 */
export class ErrorTranslator {
  readonly #driver: SqliteDriver;
  readonly #file: DatabaseFile;
  /** True if the file was checked after an unexpected error and found sound, so that such errors are our own bugs. */
  #isSound = false;

  constructor(driver: SqliteDriver, file: DatabaseFile) {
    this.#driver = driver;
    this.#file = file;
  }

  /** Runs a call of the binding and translates its error. */
  translating<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw this.toStorageError(error);
    }
  }

  /**
   * The StorageError for an error from the binding. Returns other errors, and those that are not caused by the file,
   * unchanged.
   */
  toStorageError(error: unknown): unknown {
    const kind = kindOf(error);
    if (kind !== undefined) return this.error(kind, error);
    return isOfSqlite(error) && !this.#examine() ? this.error("damaged", error) : error;
  }

  error(kind: StorageError["kind"], cause: unknown): StorageError {
    const { file, disposable = true, exclusive = false } = this.#file;
    const hint = kind === "busy" && exclusive ? { hint: lockedHint } : {};
    return new StorageError(kind, { file, cause, disposable, ...hint });
  }

  /** True if the file is sound. Reads the whole file at the first call. */
  #examine(): boolean {
    if (this.#isSound) return true;
    try {
      this.#isSound = hasSchema(this.#driver, this.#file.migrations) && firstProblem(this.#driver) === undefined;
    } catch {
      return false;
    }
    return this.#isSound;
  }
}

const lockedHint =
  "Another agent uses this state folder: stop that agent, or set this agent's state.folder to another folder.";

/** Checks the whole file. Returns the first problem in SQLite's words; throws if the file cannot be checked. */
export function firstProblem(driver: SqliteDriver): string | undefined {
  const row = driver.prepare("PRAGMA quick_check(1)").get() as { readonly quick_check?: string } | undefined;
  const text = row?.quick_check;
  return text === "ok" ? undefined : (text ?? "SQLite's check has no result");
}
