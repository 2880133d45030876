import { copyFileSync, lstatSync, renameSync, rmSync, statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { hasCode, isDamage, kindOf, StorageError } from "../errors.ts";
import { cacheMigrations, stateMigrations } from "../schema.ts";
import { Database, type Pragmas } from "./database.ts";
import { hasInvalidLog } from "./log-header.ts";
import { asideOf, keepNewest } from "./set-aside.ts";

export interface OpenedCache {
  readonly database: Database;
  /** Why the previous file was deleted; undefined if it was kept. */
  readonly rebuilt: StorageError | undefined;
}

export interface OpenedState {
  readonly database: Database;
  /** Where a damaged file, or a copy of an invalid log, was put, and why; undefined if the file was sound. */
  readonly setAside: { readonly file: string; readonly why: StorageError } | undefined;
}

/** The options that `openCache` and `openState` share. */
export interface OpenFileOptions {
  readonly file: string;
  readonly pragmas: Pragmas;
}

/** How many damaged states are kept for inspection. */
const maxKept = 3;

/** Opens cache.db. A damaged one is deleted, because everything in it can be listed again. */
export function openCache({ file, pragmas }: OpenFileOptions): OpenedCache {
  const open = (): Database => Database.open({ file, pragmas, migrations: cacheMigrations });
  try {
    withStorageErrors({ file, disposable: true }, () => checkParts({ file, disposable: true }));
    return { database: open(), rebuilt: undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    removeCache(file);
    return { database: open(), rebuilt: error };
  }
}

/**
 * Deletes cache.db with its log. To replace a cache that is found to be damaged while open, close it without a
 * checkpoint, remove it, then reopen it.
 */
export function removeCache(file: string): void {
  withStorageErrors({ file, disposable: true }, () => {
    for (const part of partsOf(file)) {
      // The agent never creates a folder with this name, so the folder is renamed rather than deleted; only the latest
      // one is kept.
      if (kindAt(part) !== "folder") rmSync(part, { force: true });
      else {
        rmSync(`${part}.moved-away`, { recursive: true, force: true });
        renameSync(part, `${part}.moved-away`);
      }
    }
  });
}

/**
 * Opens state.db. A damaged one is kept next to the new one for inspection; `stamp` makes its name unique. `exclusive`:
 * whether any other process that opens it in the meantime fails with a StorageError of kind "busy".
 *
 * If the log has an invalid header, a copy of the log is kept and the file is used, because it has everything up to the
 * last checkpoint.
 */
export function openState(
  options: OpenFileOptions & { readonly stamp: string; readonly exclusive?: boolean },
): OpenedState {
  const { file, pragmas, stamp, exclusive = false } = options;
  const open = (): Database =>
    Database.open({ file, pragmas, migrations: stateMigrations, disposable: false, exclusive });
  try {
    withStorageErrors({ file, disposable: false }, () => checkParts({ file, disposable: false }));
    // The log is checked before SQLite overwrites it, but copied only once this process holds the lock.
    const isLogInvalid = hasInvalidLog(file);
    const database = checked(open());
    return { database, setAside: isLogInvalid ? keepLog(database, stamp) : undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    // The main file is moved last, so that if the power fails before that, the next start still finds it damaged.
    setAside(partsOf(file).toReversed(), { file, stamp });
    return { database: open(), setAside: { file: asideOf(file, stamp), why: error } };
  }
}

function keepLog(database: Database, stamp: string): NonNullable<OpenedState["setAside"]> {
  const { file } = database;
  const aside = asideOf(`${file}-wal`, stamp);
  try {
    withStorageErrors({ file, disposable: false }, () => {
      copyFileSync(`${file}-wal`, aside);
      keepNewest(file, { latest: stamp, most: maxKept });
    });
    return { file: aside, why: database.damaged(new Error("its log has an invalid header")) };
  } catch (error) {
    database.closeWithoutCheckpoint();
    throw error;
  }
}

/** Checks the whole file, which is small, so that damage is found at the start and not only when a fact is needed. */
function checked(database: Database): Database {
  try {
    const problem = database.firstProblem();
    if (problem !== undefined) throw database.damaged(new Error(problem));
    return database;
  } catch (error) {
    database.closeWithoutCheckpoint();
    throw error;
  }
}

/**
 * Throws a StorageError of kind "damaged" for what SQLite would treat as an empty database or fail on: a path that is
 * not a file, an empty or truncated file, or a log without its database. A file is also empty after a power cut at the
 * moment of its creation; it is reported nevertheless, because nothing shows whether it ever had content.
 */
function checkParts({ file, disposable }: { file: string; disposable: boolean }): void {
  const damaged = (why: string): StorageError =>
    new StorageError("damaged", { file, cause: new Error(why), disposable });
  for (const part of partsOf(file)) {
    const kind = kindAt(part);
    if (kind !== "file" && kind !== "nothing") throw damaged(`${part} is not a file but ${kindNames[kind]}`);
  }
  const [size, log] = [sizeOf(file), sizeOf(`${file}-wal`)];
  if (size >= headerBytes) return;
  if (log > 0) throw damaged("only its log is left");
  if (kindAt(file) === "file") checkFree(file, disposable);
  if (size > 0) throw damaged("it is shorter than the header of a database");
  if (kindAt(file) === "file") throw damaged("it is empty");
}

/** Throws if another process is using the file, because it may just have created the file, which is then empty. */
function checkFree(file: string, disposable: boolean): void {
  try {
    const driver = new Sqlite(file, { timeout: 0 });
    try {
      driver.exec("BEGIN EXCLUSIVE");
    } finally {
      driver.close();
    }
  } catch (cause) {
    if (kindOf(cause) === "busy") throw new StorageError("busy", { file, cause, disposable });
  }
}

/** The size of a database header, in bytes. */
const headerBytes = 100;

const kindNames = { folder: "a folder", link: "a dangling link", other: "a special file" } as const;

function kindAt(path: string): "nothing" | "file" | keyof typeof kindNames {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return "nothing";
  try {
    const found = statSync(path);
    return found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
  } catch (error) {
    // A path that cannot be read counts as a file, because opening it will report the reason.
    return hasCode(error, "ENOENT") || hasCode(error, "ELOOP") ? "link" : "file";
  }
}

const sizeOf = (path: string): number =>
  kindAt(path) === "file" ? (statSync(path, { throwIfNoEntry: false })?.size ?? 0) : 0;

const partsOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`, `${file}-journal`];

function setAside(parts: readonly string[], { file, stamp }: { readonly file: string; readonly stamp: string }): void {
  withStorageErrors({ file, disposable: false }, () => {
    for (const part of parts) if (kindAt(part) !== "nothing") renameSync(part, asideOf(part, stamp));
    keepNewest(file, { latest: stamp, most: maxKept });
  });
}

/**
 * Runs `work`, which reads, moves or copies files, and converts its errors, because a read-only or full disk, or a folder
 * of another owner, refuses these operations as well.
 */
function withStorageErrors(about: { readonly file: string; readonly disposable: boolean }, work: () => void): void {
  try {
    work();
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    throw new StorageError(hasCode(cause, "ENOSPC") ? "full" : "io", { ...about, cause });
  }
}
