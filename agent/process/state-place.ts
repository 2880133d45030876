import { join } from "node:path";
import { StorageError } from "../../storage/errors.ts";
import { carryBack, type Makeshift, makeMakeshift, openMakeshift, proveUsable } from "../../storage/makeshift.ts";
import { isFullOfCache, obstacleAt, StateFolder } from "../../storage/state-folder.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { existingFolder } from "../board/existing-folder.ts";
import { boardFiles } from "../board/sensors/board-files.ts";
import { mountOf } from "../board/sensors/mount.ts";
import type { Config } from "../config/settings.ts";
import { userMessageOf } from "./user-message.ts";

/** Pauses between two checks of the state folder, in milliseconds. */
const pauses = { first: 2000, max: 60_000 };
/** Pause between two checks for a cache that fills the disk, in milliseconds. */
const roomPause: Millis = 10_000;
/**
 * Maximum number of times within an hour that the cache is deleted to make room. Each time, the whole site is listed
 * again; if the disk is then full again, something else fills it, or it is too small.
 */
const maxDiscards = 3;
const hour: Millis = 3_600_000;

/**
 * Where the folder became writable again. usable: for this process. elsewhere: only outside this process's mount
 * namespace. A service has its own mount namespace, so a mount that was read-only when the service started remains
 * read-only there, even after it is remounted outside.
 */
export type Regained = "usable" | "elsewhere";

interface Avoided {
  readonly folder: string;
  readonly error: unknown;
  /** Pause before the first check; it grows with each failure. */
  readonly pause: Millis;
}

/**
 * Where a run of the agent keeps its state: in the configured folder or, while that cannot be written, in a makeshift
 * (a folder in memory), so that a board with a failing card can still report and answer commands.
 */
export class StatePlace {
  readonly #ambient: Ambient;
  readonly #isSupervised: boolean;
  /** The configured folder, if it is currently not used. */
  #avoided: Avoided | undefined;
  #makeshift: Makeshift | undefined;
  /**
   * The configured folder, opened by a check that found it writable, so that the agent's next run uses it. `of`: its
   * path.
   */
  #found: { readonly of: string; readonly folder: StateFolder } | undefined;
  /** When the cache was deleted to make room, within the last hour. */
  #discards: readonly Instant[] = [];

  /** `isSupervised`: the service manager starts another process when this one ends. */
  constructor(ambient: Ambient, { isSupervised }: { readonly isSupervised: boolean }) {
    this.#ambient = ambient;
    this.#isSupervised = isSupervised;
  }

  /**
   * Makes the next run of the agent use a makeshift (a folder in memory). Returns false if the error does not come from
   * the disk, or if the failed run already used a makeshift, in which case the next run tries the configured folder
   * again.
   */
  avoid({ state }: Config, error: unknown, pause: Millis): boolean {
    const isAvoided = this.#avoided?.folder === state.folder;
    this.#avoided = isOfDisk(error) && !isAvoided ? { folder: state.folder, error, pause } : undefined;
    return this.#avoided !== undefined;
  }

  /** Why the folder is not used; undefined if it is. */
  avoids({ state }: Config): { readonly error: unknown } | undefined {
    return this.#avoided?.folder === state.folder ? this.#avoided : undefined;
  }

  /**
   * Opens the configured folder or, while it is not used, a makeshift: a temporary folder in memory. Throws if it
   * cannot be opened. The caller closes it.
   */
  open(config: Config): StateFolder {
    const { state, cache } = config;
    const options = { pragmas: cache.sqlite, stamp: this.#stamp, mayDiscard: this.#mayDiscard };
    const avoided = this.avoids(config);
    if (avoided) return this.#openMakeshift(config, avoided.error);
    const found = this.#found?.of === state.folder ? this.#found.folder : undefined;
    if (!found) this.close();
    this.#found = undefined;
    const folder = found ?? this.#noted(StateFolder.open({ ...options, folder: state.folder }));
    try {
      if (this.#makeshift?.of === state.folder) carryBack(this.#makeshift, folder, options);
      this.#makeshift = undefined;
      return folder;
    } catch (error) {
      folder.closeWithoutCheckpoint();
      throw error;
    }
  }

  #openMakeshift({ run, state, cache }: Config, error: unknown): StateFolder {
    // systemd creates the run folder, in memory.
    const at = join(run.folder, "makeshift");
    try {
      const isOurs = this.#makeshift?.at === at && this.#makeshift.of === state.folder;
      if (!isOurs) this.#makeshift = makeMakeshift(at, state.folder);
      return openMakeshift(at, { pragmas: cache.sqlite, stamp: this.#stamp, standsIn: userMessageOf(error).message });
    } catch (failure) {
      this.#ambient.log.warn("no temporary state folder can be created in memory", { at, error: failure });
      throw error;
    }
  }

  /**
   * While a makeshift is used: waits until the configured folder is writable again. Undefined if the signal aborted.
   */
  async regained(config: Config, signal: AbortSignal): Promise<Regained | undefined> {
    const { clock, log } = this.#ambient;
    const { folder } = config.state;
    const files = boardFiles();
    let wasReadOnly = false;
    for (let pause = this.#avoided?.pause ?? pauses.first; ; pause = Math.min(pauses.max, 2 * pause)) {
      const mount = mountOf(files, folder);
      wasReadOnly ||= mount?.isReadOnly === true && !mount.isOnlyHere;
      await sleep(clock, pause, signal);
      if (signal.aborted) return undefined;
      // The file system is writable again, but its mount in this service's namespace is not: a restart helps. It does
      // not help if only the service's mount was ever read-only, for example because of ReadOnlyPaths=.
      if (this.#isSupervised && wasReadOnly && mountOf(files, folder)?.isOnlyHere) return "elsewhere";
      if (obstacleAt(existingFolder(folder) ?? folder) !== undefined && !this.#isFullOfCache(config)) continue;
      try {
        this.#found = { of: folder, folder: this.#openUsable(config) };
      } catch (error) {
        log.debug("the state folder is not usable yet", { error });
        // Errors that do not come from the disk are left to the agent's next run, which will encounter and report them.
        if (isOfDisk(error)) continue;
      }
      this.#avoided = undefined;
      return "usable";
    }
  }

  /**
   * Completes when the cache fills the disk, so that the configured folder can be used only without it, or when the
   * signal aborts. Needed because, while the disk is full, a board that stores little does not fail, but does not stand
   * for election either.
   */
  async crowded(config: Config, signal: AbortSignal): Promise<void> {
    do await sleep(this.#ambient.clock, roomPause, signal);
    while (!signal.aborted && !this.#isFullOfCache(config));
  }

  /** Closes a folder that was found usable, but that no run of the agent has used. */
  close(): void {
    this.#found?.folder.close();
    this.#found = undefined;
  }

  #openUsable({ state, cache }: Config): StateFolder {
    const options = { folder: state.folder, pragmas: cache.sqlite, stamp: this.#stamp, mayDiscard: this.#mayDiscard };
    const folder = this.#noted(StateFolder.open(options));
    try {
      proveUsable(folder, this.#stamp);
      return folder;
    } catch (error) {
      folder.closeWithoutCheckpoint();
      throw error;
    }
  }

  #isFullOfCache({ state }: Config): boolean {
    return this.#mayDiscard && isFullOfCache(state.folder);
  }

  get #mayDiscard(): boolean {
    const now = this.#ambient.clock.now();
    this.#discards = this.#discards.filter((at) => elapsed(at, now) < hour);
    return this.#discards.length < maxDiscards;
  }

  /** Counts the deletion of a cache that left no room. */
  #noted(folder: StateFolder): StateFolder {
    if (folder.cache.rebuilt?.kind === "full") this.#discards = [...this.#discards, this.#ambient.clock.now()];
    return folder;
  }

  get #stamp(): string {
    return String(this.#ambient.clock.now().wall);
  }
}

const isOfDisk = (error: unknown): boolean =>
  error instanceof StorageError && (error.kind === "full" || error.kind === "io");
