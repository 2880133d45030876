import { copyFileSync, lstatSync, renameSync, rmSync, statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { Database, type Pragmas } from "./database.ts";
import { kindOf, StorageError } from "./errors.ts";
import { hasForeignLog } from "./log-header.ts";
import { cacheMigrations, stateMigrations } from "./schema.ts";
import { keepNewest } from "./set-aside.ts";

export interface OpenedCache {
  readonly database: Database;
  /** Why the former file was deleted, if it was. */
  readonly rebuilt: StorageError | undefined;
}

export interface OpenedState {
  readonly database: Database;
  /** The damaged file's new place and the reason, if it was damaged. */
  readonly setAside: { readonly file: string; readonly why: StorageError } | undefined;
}

/** The options that both functions share. */
export interface Opening {
  readonly file: string;
  readonly pragmas: Pragmas;
  /** The file existed before, so an empty one has lost its content. Otherwise it may just have been created. */
  readonly isKnown?: boolean;
}

/** How many damaged states are kept for inspection. */
const mostKept = 3;

/** Opens cache.db. A damaged one is deleted: everything in it can be listed again. */
export function openCache({ file, pragmas, isKnown = false }: Opening): OpenedCache {
  const open = (): Database => Database.open({ file, pragmas, migrations: cacheMigrations });
  try {
    checkParts({ file, isKnown, disposable: true });
    return { database: open(), rebuilt: undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    removeCache(file);
    return { database: open(), rebuilt: error };
  }
}

/** For a cache found damaged while in use: abandon it, call this, then open it again. */
export function removeCache(file: string): void {
  moving({ file, disposable: true }, () => {
    for (const part of partsOf(file)) {
      // We made no folder, so move it out of the way; only the latest is kept.
      if (kindAt(part) !== "folder") rmSync(part, { force: true });
      else {
        rmSync(`${part}.moved-away`, { recursive: true, force: true });
        renameSync(part, `${part}.moved-away`);
      }
    }
  });
}

/**
 * Opens state.db. A damaged one is kept beside the new one for inspection; `stamp` makes its name unique. `exclusive`:
 * one process at a time; a second one fails with "busy".
 *
 * If the log is not a valid one, a copy of it is kept and the file is used: everything checkpointed before is still
 * good.
 */
export function openState(options: Opening & { readonly stamp: string; readonly exclusive?: boolean }): OpenedState {
  const { file, pragmas, stamp, exclusive = false, isKnown = false } = options;
  const open = (): Database =>
    Database.open({ file, pragmas, migrations: stateMigrations, disposable: false, exclusive });
  try {
    checkParts({ file, isKnown, disposable: false });
    // Checked before SQLite overwrites the log; acted on once we hold the lock.
    const isForeign = hasForeignLog(file);
    const database = checked(open());
    return { database, setAside: isForeign ? keptLog(database, stamp) : undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    // The main file goes last: if the power fails in between, the next start finds it damaged and moves it again.
    setAside(partsOf(file).toReversed(), { file, stamp });
    return { database: open(), setAside: { file: asideOf(file, stamp), why: error } };
  }
}

function keptLog(database: Database, stamp: string): NonNullable<OpenedState["setAside"]> {
  const { file } = database;
  const aside = asideOf(`${file}-wal`, stamp);
  try {
    moving({ file, disposable: false }, () => {
      copyFileSync(`${file}-wal`, aside);
      keepNewest(file, { latest: stamp, most: mostKept });
    });
    return { file: aside, why: database.damaged(new Error("its log cannot be read")) };
  } catch (error) {
    database.abandon();
    throw error;
  }
}

/** Checks the whole file, which is small, so that damage is found now and not when a fact is needed. */
function checked(database: Database): Database {
  try {
    const problem = database.firstProblem();
    if (problem !== undefined) throw database.damaged(new Error(problem));
    return database;
  } catch (error) {
    database.abandon();
    throw error;
  }
}

/**
 * Rejects what SQLite would take for an empty database or fail on: something other than a file, or the remains of one.
 */
function checkParts({ file, isKnown, disposable }: { file: string; isKnown: boolean; disposable: boolean }): void {
  const damaged = (why: string): StorageError =>
    new StorageError("damaged", { file, cause: new Error(why), disposable });
  for (const part of partsOf(file)) {
    const kind = kindAt(part);
    if (kind !== "file" && kind !== "nothing") throw damaged(`${part} is not a file but ${named[kind]}`);
  }
  const [size, log] = [sizeOf(file), sizeOf(`${file}-wal`)];
  if (size >= shortest) return;
  if (log > 0) throw damaged("there is a log of it, and nothing else");
  if (kindAt(file) === "file") checkFree(file, disposable);
  if (size > 0) throw damaged("only its beginning is left");
  if (isKnown && kindAt(file) === "file") throw damaged("it is empty");
}

/** Throws if another process is using the file. One that another process has only just created is empty too. */
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
const shortest = 100;

const named = { folder: "a folder", link: "a link that leads nowhere", other: "something else" } as const;

function kindAt(path: string): "nothing" | "file" | keyof typeof named {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return "nothing";
  try {
    const found = statSync(path);
    return found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
  } catch (error) {
    // Paths that cannot be read are reported when they are opened.
    return hasCode(error, "ENOENT") || hasCode(error, "ELOOP") ? "link" : "file";
  }
}

const sizeOf = (path: string): number =>
  kindAt(path) === "file" ? (statSync(path, { throwIfNoEntry: false })?.size ?? 0) : 0;

const isDamage = (error: unknown): error is StorageError => error instanceof StorageError && error.kind === "damaged";

const partsOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`, `${file}-journal`];

const asideOf = (part: string, stamp: string): string => `${part}.damaged-${stamp}`;

function setAside(parts: readonly string[], { file, stamp }: { readonly file: string; readonly stamp: string }): void {
  moving({ file, disposable: false }, () => {
    for (const part of parts) if (kindAt(part) !== "nothing") renameSync(part, asideOf(part, stamp));
    keepNewest(file, { latest: stamp, most: mostKept });
  });
}

/** On a read-only disk moving fails too. */
function moving(about: { readonly file: string; readonly disposable: boolean }, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new StorageError(hasCode(cause, "ENOSPC") ? "full" : "io", { ...about, cause });
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
