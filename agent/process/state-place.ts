import { join } from "node:path";
import { StorageError } from "../../storage/errors.ts";
import { carryBack, type Makeshift, makeMakeshift, openMakeshift, proveUsable } from "../../storage/makeshift.ts";
import { obstacleAt, StateFolder } from "../../storage/state-folder.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { boardFiles } from "../board/board-files.ts";
import { existingFolder } from "../board/existing-folder.ts";
import { mountOf } from "../board/mount.ts";
import type { Config } from "../config/settings.ts";
import { toldOf } from "./told-of.ts";

/** A check costs no more than reading the mount table, and the databases if the folder seems usable. */
const pauses = { first: 2000, most: 60_000 };

/**
 * elsewhere: the folder is writable again, but not for this process. A service has its own view of the mounts: one made
 * while the mount was read-only stays read-only, even after a remount outside.
 */
export type Regained = "usable" | "elsewhere";

interface Avoided {
  readonly folder: string;
  readonly error: unknown;
  /** Pause before the first check: a folder that fails again and again is checked less and less often. */
  readonly pause: Millis;
}

/**
 * Where the state of a life lies: in the configured folder or, while that cannot be written, in a makeshift in memory
 * beside the status. A board with a failing card must be able to report and to answer more than any other.
 */
export class StatePlace {
  readonly #ambient: Ambient;
  readonly #isSupervised: boolean;
  #avoided: Avoided | undefined;
  #makeshift: Makeshift | undefined;
  /** Found usable while the makeshift stood in: the next life takes it over open. */
  #found: { readonly of: string; readonly folder: StateFolder } | undefined;

  /** `isSupervised`: a supervisor starts another process when this one ends. */
  constructor(ambient: Ambient, { isSupervised }: { readonly isSupervised: boolean }) {
    this.#ambient = ambient;
    this.#isSupervised = isSupervised;
  }

  /**
   * Whether the next life can run without the folder; false: the cause lies elsewhere, or the makeshift itself failed,
   * and the next life tries the folder again.
   */
  avoid({ state }: Config, error: unknown, pause: Millis): boolean {
    const isAvoided = this.#avoided?.folder === state.folder;
    this.#avoided = isOfDisk(error) && !isAvoided ? { folder: state.folder, error, pause } : undefined;
    return this.#avoided !== undefined;
  }

  /** Why the folder is avoided; undefined: it is not. */
  avoids({ state }: Config): { readonly error: unknown } | undefined {
    return this.#avoided?.folder === state.folder ? this.#avoided : undefined;
  }

  /** Throws if nothing can be opened. The caller closes the folder. */
  open(config: Config): StateFolder {
    const { state, cache } = config;
    const options = { pragmas: cache.sqlite, stamp: this.#stamp };
    const avoided = this.avoids(config);
    if (avoided) return this.#openMakeshift(config, avoided.error);
    const found = this.#found?.of === state.folder ? this.#found.folder : undefined;
    if (!found) this.close();
    this.#found = undefined;
    const folder = found ?? StateFolder.open({ ...options, folder: state.folder });
    try {
      if (this.#makeshift?.of === state.folder) carryBack(this.#makeshift, folder, options);
      this.#makeshift = undefined;
      return folder;
    } catch (error) {
      folder.abandon();
      throw error;
    }
  }

  #openMakeshift({ run, state, cache }: Config, error: unknown): StateFolder {
    // Systemd creates that folder, in memory.
    const at = join(run.folder, "makeshift");
    try {
      const isOurs = this.#makeshift?.at === at && this.#makeshift.of === state.folder;
      if (!isOurs) this.#makeshift = makeMakeshift(at, state.folder);
      return openMakeshift(at, { pragmas: cache.sqlite, stamp: this.#stamp, standsIn: toldOf(error).message });
    } catch (failure) {
      this.#ambient.log.warn("nothing can stand in for the state folder", { at, error: failure });
      throw error;
    }
  }

  /** While a makeshift stands in: waits until the folder is writable again. Undefined: the signal aborted. */
  async regained(config: Config, signal: AbortSignal): Promise<Regained | undefined> {
    const { clock, log } = this.#ambient;
    const { folder } = config.state;
    const files = boardFiles();
    let wasReadOnly = false;
    for (let pause = this.#avoided?.pause ?? pauses.first; ; pause = Math.min(pauses.most, 2 * pause)) {
      const mount = mountOf(files, folder);
      wasReadOnly ||= mount?.isReadOnly === true && !mount.isOnlyHere;
      await sleep(clock, pause, signal);
      if (signal.aborted) return undefined;
      // Only after an observed change: a view that is read-only on purpose would be the same in the next process.
      if (this.#isSupervised && wasReadOnly && mountOf(files, folder)?.isOnlyHere) return "elsewhere";
      if (obstacleAt(existingFolder(folder) ?? folder) !== undefined) continue;
      try {
        this.#found = { of: folder, folder: this.#proved(config) };
      } catch (error) {
        log.debug("the state folder is not usable yet", { error });
        // It is writable, but not usable: the next life finds the error and reports it.
        if (isOfDisk(error)) continue;
      }
      this.#avoided = undefined;
      return "usable";
    }
  }

  /** Closes a folder that no life has taken over. */
  close(): void {
    this.#found?.folder.close();
    this.#found = undefined;
  }

  #proved({ state, cache }: Config): StateFolder {
    const folder = StateFolder.open({ folder: state.folder, pragmas: cache.sqlite, stamp: this.#stamp });
    try {
      proveUsable(folder, this.#stamp);
      return folder;
    } catch (error) {
      folder.abandon();
      throw error;
    }
  }

  get #stamp(): string {
    return String(this.#ambient.clock.now().wall);
  }
}

const isOfDisk = (error: unknown): boolean =>
  error instanceof StorageError && (error.kind === "full" || error.kind === "io");
