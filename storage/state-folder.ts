import { accessSync, constants, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { foreignCache } from "./cache-owner.ts";
import type { Database, Pragmas } from "./database.ts";
import { StorageError } from "./errors.ts";
import { makeFolder } from "./make-folder.ts";
import { type OpenedCache, type OpenedState, type Opening, openCache, openState, removeCache } from "./open.ts";

export interface FolderOptions {
  readonly folder: string;
  readonly pragmas: Omit<Pragmas, "synchronous">;
  /** See `openState`. */
  readonly stamp: string;
  readonly standsIn?: string;
}

/**
 * The folder of one agent: state.db and cache.db. Only one process can have it open: the lock on state.db is taken
 * before anything else is touched and ends with the process, so holding it proves that the former process is gone.
 */
export class StateFolder {
  readonly state: OpenedState;
  readonly cache: OpenedCache;
  /** Why the configured folder is not used, if this one stands in for it: data stored here is lost. */
  readonly standsIn: string | undefined;
  readonly #folder: string;

  private constructor(folder: string, state: OpenedState, cache: OpenedCache, standsIn: string | undefined) {
    this.#folder = folder;
    this.state = state;
    this.cache = cache;
    this.standsIn = standsIn;
  }

  /** Creates the folder if it is missing. */
  static open({ folder, pragmas, stamp, standsIn }: FolderOptions): StateFolder {
    makePlace(folder);
    const [durable, disposable] = [path.join(folder, "state.db"), path.join(folder, "cache.db")];
    // Each file proves for the other that this is not the folder's first start; the state is created first.
    const [hadState, hadCache] = [isFilled(durable), isFilled(disposable)];
    const full: Pragmas = { ...pragmas, synchronous: "FULL" };
    const state = openState({ file: durable, pragmas: full, stamp, exclusive: true, isKnown: hadCache });
    try {
      const normal: Pragmas = { ...pragmas, synchronous: "NORMAL" };
      const cache = ownCache(state.database, { file: disposable, pragmas: normal, isKnown: hadState });
      return new StateFolder(folder, state, cache, standsIn);
    } catch (error) {
      state.database.abandon();
      throw error;
    }
  }

  /** Inode of state.db; tells it from any copy. */
  get copy(): string {
    return String(statSync(path.join(this.#folder, "state.db"), { bigint: true }).ino);
  }

  /** Why nothing can be stored here at present; undefined if nothing is known. Called often, so it writes nothing. */
  obstacle(): string | undefined {
    return this.standsIn ?? obstacleAt(this.#folder);
  }

  /** Writes everything in memory and checkpoints both files. */
  close(): void {
    this.cache.database.close();
    this.state.database.close();
  }

  /** Closes both files after one of them failed, without writing anything more. Their logs keep what they hold. */
  abandon(): void {
    this.cache.database.abandon();
    this.state.database.abandon();
  }
}

/**
 * Why a folder cannot be written, as far as that shows without writing: some file systems only report it on a write.
 */
export function obstacleAt(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < leastRoom ? `less than 1 MiB is left on the disk of ${folder}` : undefined;
  } catch (error) {
    return `${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** In bytes. The cache grows with the site, and SQLite needs room for checkpoints. */
export const leastRoom = 1024 * 1024;

/** A cache filled beside another state is deleted like a damaged one. */
function ownCache(state: Database, opening: Opening): OpenedCache {
  const opened = openCache(opening);
  try {
    const foreign = foreignCache(state, opened.database);
    if (foreign === undefined) return opened;
    opened.database.abandon();
    removeCache(opening.file);
    const { database } = openCache({ ...opening, isKnown: false });
    foreignCache(state, database);
    return { database, rebuilt: foreign };
  } catch (error) {
    opened.database.abandon();
    throw error;
  }
}

/** A file that cannot be read is reported when it is opened. */
function isFilled(file: string): boolean {
  try {
    return statSync(file).size > 0;
  } catch {
    return false;
  }
}

function makePlace(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    const about = { file: folder, cause, disposable: false };
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    // A missing folder is then the disk's fault and passes with it.
    if (code === "ENOSPC" || code === "EDQUOT") throw new StorageError("full", about);
    if (code === "EROFS") throw new StorageError("io", about);
    throw new StorageError("io", { ...about, isPlace: true, hint: folderHint });
  }
}

const folderHint =
  "Make the folder, for the service's user to write in, or name another one (state.folder); then restart the service.";
