import { accessSync, constants, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { foreignCache } from "./cache-owner.ts";
import { type Database, type Pragmas, pageSize } from "./database/database.ts";
import {
  type OpenedCache,
  type OpenedState,
  type OpenFileOptions,
  openCache,
  openState,
  removeCache,
} from "./database/open.ts";
import { StorageError } from "./errors.ts";
import { makeFolder } from "./make-folder.ts";

export interface FolderOptions {
  readonly folder: string;
  readonly pragmas: Omit<Pragmas, "synchronous">;
  /** Part of the names of damaged files that are set aside; see `openState`. */
  readonly stamp: string;
  /** Why this folder is used in place of the configured one; absent if it is the configured one. */
  readonly standsIn?: string;
  /** Whether the cache may be deleted if the disk is full and only that makes room. Default: it may. */
  readonly mayDiscard?: boolean;
}

/**
 * The folder of one agent: state.db and cache.db. Only one process can have it open, because the lock on state.db is
 * taken before anything else is touched, and is released when the process ends, so holding it proves that the previous
 * process no longer exists.
 */
export class StateFolder {
  readonly state: OpenedState;
  readonly cache: OpenedCache;
  /** Why this folder, in memory, is used in place of the configured one; undefined if it is the configured one. */
  readonly standsIn: string | undefined;
  readonly #folder: string;
  /** The inode of state.db when it was opened. */
  readonly #inode: bigint;

  private constructor(folder: string, state: OpenedState, cache: OpenedCache, standsIn: string | undefined) {
    this.#folder = folder;
    this.state = state;
    this.cache = cache;
    this.standsIn = standsIn;
    this.#inode = statSync(state.database.file, { bigint: true }).ino;
  }

  /** Creates the folder if it is missing. */
  static open({ folder, pragmas, stamp, standsIn, mayDiscard = true }: FolderOptions): StateFolder {
    makeStateFolder(folder);
    const [durable, disposable] = [path.join(folder, "state.db"), path.join(folder, "cache.db")];
    const full: Pragmas = { ...pragmas, synchronous: "FULL" };
    const opening = { file: durable, pragmas: full, stamp, exclusive: true };
    // Called only with the lock on state.db, or after a failure other than "busy", so that no other process uses the
    // cache.
    const room = (): StorageError | undefined =>
      mayDiscard && isFullOfCache(folder) ? discard(disposable) : undefined;
    let discarded: StorageError | undefined;
    const makingRoom = (): OpenedState => {
      try {
        return openState(opening);
      } catch (error) {
        discarded = error instanceof StorageError && error.kind === "full" ? room() : undefined;
        if (discarded === undefined) throw error;
        return openState(opening);
      }
    };
    const state = makingRoom();
    try {
      const normal: Pragmas = { ...pragmas, synchronous: "NORMAL" };
      discarded ??= room();
      const cache = ownCache(state.database, { file: disposable, pragmas: normal });
      return new StateFolder(folder, state, discarded ? { ...cache, rebuilt: discarded } : cache, standsIn);
    } catch (error) {
      state.database.closeWithoutCheckpoint();
      throw error;
    }
  }

  /** The inode of state.db, which identifies this folder, because a copy of it has another one. */
  get inode(): string {
    return String(statSync(path.join(this.#folder, "state.db"), { bigint: true }).ino);
  }

  /** Why nothing can currently be stored; undefined if no reason is known. Called often, so it does not write. */
  obstacle(): string | undefined {
    return this.standsIn ?? obstacleAt(this.#folder);
  }

  /** The size of the folder's file system and its free space, in bytes; undefined if they cannot be read. */
  room(): DiskRoom | undefined {
    try {
      return roomOf(this.#folder);
    } catch {
      return undefined;
    }
  }

  /**
   * How state.db was lost after it was opened; undefined if it was not. SQLite continues to use the opened file, and
   * reports neither its removal nor its truncation. Called often, so it only reads the file's metadata.
   */
  loss(): "removed" | "replaced" | "truncated" | undefined {
    try {
      const found = statSync(this.state.database.file, { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return "removed";
      if (found.ino !== this.#inode) return "replaced";
      return found.size < pageSize ? "truncated" : undefined;
    } catch {
      // A failing disk is reported by writes.
      return undefined;
    }
  }

  /** Writes everything that is only in memory, and checkpoints both files. */
  close(): void {
    this.cache.database.close();
    this.state.database.close();
  }

  /** Closes both files after one of them failed, without another write, so that their logs are not checkpointed. */
  closeWithoutCheckpoint(): void {
    this.cache.database.closeWithoutCheckpoint();
    this.state.database.closeWithoutCheckpoint();
  }
}

/**
 * Why a folder cannot be written; undefined if no reason is known. Checks without writing, so it can miss some reasons:
 * certain file systems report errors only on a write.
 */
export function obstacleAt(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    return roomOf(folder).free < minFreeBytes ? `less than 1 MiB is left on the disk of ${folder}` : undefined;
  } catch (error) {
    return `${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * The minimum free space, in bytes. With less, the folder counts as full, because the cache grows and checkpoints need
 * room.
 */
export const minFreeBytes = 1024 * 1024;

/** The size of a file system and its free space, in bytes. */
export interface DiskRoom {
  readonly size: number;
  readonly free: number;
}

function roomOf(folder: string): DiskRoom {
  const { blocks, bavail, bsize } = statfsSync(folder);
  return { size: blocks * bsize, free: bavail * bsize };
}

/**
 * Whether the folder's disk is full, and would not be without the cache. False if the cache is so small that deleting
 * it would not make the folder usable.
 */
export function isFullOfCache(folder: string): boolean {
  try {
    const { free } = roomOf(folder);
    return free < minFreeBytes && free + cacheBytes(folder) >= 2 * minFreeBytes;
  } catch {
    return false;
  }
}

/** The bytes that the files of the cache occupy on the disk, which may be fewer than their length. */
const cacheBytes = (folder: string): number =>
  ["cache.db", "cache.db-wal"].reduce(
    (sum, name) => sum + 512 * (statSync(path.join(folder, name), { throwIfNoEntry: false })?.blocks ?? 0),
    0,
  );

/** Deletes the cache to make room, and returns why. After a power cut in between, the next start deletes the rest. */
function discard(file: string): StorageError {
  removeCache(file);
  return new StorageError("full", { file, cause: new Error("the cache was deleted to make room"), hint: discardHint });
}

/** Opens the cache. If it was filled next to another state.db, it is deleted, like a damaged one. */
function ownCache(state: Database, opening: OpenFileOptions): OpenedCache {
  const opened = openCache(opening);
  try {
    const foreign = foreignCache(state, opened.database);
    if (foreign === undefined) return opened;
    opened.database.closeWithoutCheckpoint();
    removeCache(opening.file);
    const { database } = openCache(opening);
    foreignCache(state, database);
    return { database, rebuilt: foreign };
  } catch (error) {
    opened.database.closeWithoutCheckpoint();
    throw error;
  }
}

function makeStateFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    const about = { file: folder, cause, disposable: false };
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    // A full disk is not the configured path's fault, because the attempt can succeed once the disk has room.
    if (code === "ENOSPC" || code === "EDQUOT") throw new StorageError("full", about);
    if (code === "EROFS") throw new StorageError("io", about);
    throw new StorageError("io", { ...about, isWrongPath: true, hint: folderHint });
  }
}

const discardHint =
  "The agent deleted its cache to make room and refills it. Check what fills the disk, and whether its size suffices: docs/operator.md, section The partition of the state folder.";

const folderHint =
  "Create the folder with write access for the user of the service, or set state.folder to another folder; then restart the service.";
