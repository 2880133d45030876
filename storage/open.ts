import { renameSync, rmSync } from "node:fs";
import { Database, type Pragmas } from "./database.ts";
import { StorageError } from "./errors.ts";
import { cacheMigrations, stateMigrations } from "./schema.ts";

export interface OpenedCache {
  readonly database: Database;
  /** Why the former file was thrown away, if it was. */
  readonly rebuilt: StorageError | undefined;
}

export interface OpenedState {
  readonly database: Database;
  /** Where the damaged file is now, if it was damaged, and why. */
  readonly setAside: { readonly file: string; readonly why: StorageError } | undefined;
}

/** Opens cache.db. A damaged one is deleted: everything in it can be listed again. */
export function openCache({ file, pragmas }: { readonly file: string; readonly pragmas: Pragmas }): OpenedCache {
  const options = { file, pragmas, migrations: cacheMigrations };
  try {
    return { database: Database.open(options), rebuilt: undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    removeCache(file);
    return { database: Database.open(options), rebuilt: error };
  }
}

/** For a cache that turned out to be damaged while it was in use: abandon it, then this, then open it again. */
export function removeCache(file: string): void {
  for (const part of partsOf(file)) rmSync(part, { force: true });
}

/**
 * Opens state.db. A damaged one is kept beside the new one, for a person to look at; `stamp` makes its name unique.
 * `exclusive`: one process at a time; a second one fails with "busy".
 */
export function openState(options: {
  readonly file: string;
  readonly pragmas: Pragmas;
  readonly stamp: string;
  readonly exclusive?: boolean;
}): OpenedState {
  const { file, pragmas, stamp, exclusive = false } = options;
  const open = (): Database =>
    Database.open({ file, pragmas, migrations: stateMigrations, disposable: false, exclusive });
  try {
    return { database: checked(open()), setAside: undefined };
  } catch (error) {
    if (!isDamage(error)) throw error;
    // The main file goes last: if the power fails in between, the next start finds it damaged and moves it again.
    for (const part of partsOf(file).toReversed()) rename(part, `${part}.damaged-${stamp}`);
    return { database: open(), setAside: { file: `${file}.damaged-${stamp}`, why: error } };
  }
}

/** Reads the whole file, which is small, so that damage is found now and not when the fact is needed. */
function checked(database: Database): Database {
  try {
    const found = database.prepare<{ quick_check: string }>("PRAGMA quick_check(1)").get()?.quick_check;
    if (found !== "ok") throw database.damaged(new Error(found));
    return database;
  } catch (error) {
    database.abandon();
    throw error;
  }
}

const isDamage = (error: unknown): error is StorageError => error instanceof StorageError && error.kind === "damaged";

const partsOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`];

function rename(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
