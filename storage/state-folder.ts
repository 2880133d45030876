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
 * The folder of one agent: state.db and cache.db. Whoever has it open has it alone, and knows by that that the former
 * process is gone: the lock on state.db is taken before anything else is touched, and ends with the process.
 */
export class StateFolder {
  readonly state: OpenedState;
  readonly cache: OpenedCache;
  /** Why another folder is not used, where this one only stands in for it: what is stored here is not kept. */
  readonly standsIn: string | undefined;
  readonly #folder: string;

  private constructor(folder: string, state: OpenedState, cache: OpenedCache, standsIn: string | undefined) {
    this.#folder = folder;
    this.state = state;
    this.cache = cache;
    this.standsIn = standsIn;
  }

  /** Makes the folder where there is none. */
  static open({ folder, pragmas, stamp, standsIn }: FolderOptions): StateFolder {
    makePlace(folder);
    const [durable, disposable] = [path.join(folder, "state.db"), path.join(folder, "cache.db")];
    // Each of them tells of the other that this is not the folder's first start: the state is made first.
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

  /** Which file state.db is: a copy of it, in this folder or in another, is another one. */
  get copy(): string {
    return String(statSync(path.join(this.#folder, "state.db"), { bigint: true }).ino);
  }

  /** Why nothing can be stored here at present; undefined: nothing is known against it. Asked often, so it writes nothing. */
  obstacle(): string | undefined {
    return this.standsIn ?? obstacleAt(this.#folder);
  }

  /** Everything in memory is written, the logs of both files are folded in. */
  close(): void {
    this.cache.database.close();
    this.state.database.close();
  }

  /** Lets go of both files where one of them is at fault. Nothing more is written; what is in their logs is not lost. */
  abandon(): void {
    this.cache.database.abandon();
    this.state.database.abandon();
  }
}

/** Why nothing can be stored in a folder, as far as that shows from outside: some file systems only say so when they are written. */
export function obstacleAt(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < leastRoom ? `less than 1 MiB is left on the disk of ${folder}` : undefined;
  } catch (error) {
    return `${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The cache grows with the site, and SQLite needs room to fold its logs in. */
export const leastRoom = 1024 * 1024;

/** A cache that was filled beside another state is thrown away like a damaged one. */
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

/** What cannot be looked at is told when it is opened. */
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
    // That there is no folder yet is a matter of the disk then, and passes with it.
    if (code === "ENOSPC" || code === "EDQUOT") throw new StorageError("full", about);
    if (code === "EROFS") throw new StorageError("io", about);
    throw new StorageError("io", { ...about, isPlace: true, hint: folderHint });
  }
}

const folderHint =
  "Make the folder, for the service's user to write in, or name another one (state.folder); then restart the service.";
