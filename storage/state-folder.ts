import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Pragmas } from "./database.ts";
import { StorageError } from "./errors.ts";
import { type OpenedCache, type OpenedState, openCache, openState } from "./open.ts";

/**
 * The folder of one agent: state.db and cache.db. Whoever has it open has it alone, and knows by that that the former
 * process is gone: the lock on state.db is taken before anything else is touched, and ends with the process.
 */
export class StateFolder {
  readonly state: OpenedState;
  readonly cache: OpenedCache;

  private constructor(state: OpenedState, cache: OpenedCache) {
    this.state = state;
    this.cache = cache;
  }

  /** Makes the folder where there is none. `stamp`: see `openState`. */
  static open(options: {
    readonly folder: string;
    readonly pragmas: Omit<Pragmas, "synchronous">;
    readonly stamp: string;
  }): StateFolder {
    const { folder, pragmas, stamp } = options;
    makeFolder(folder);
    const durable: Pragmas = { ...pragmas, synchronous: "FULL" };
    const state = openState({ file: path.join(folder, "state.db"), pragmas: durable, stamp, exclusive: true });
    try {
      const disposable: Pragmas = { ...pragmas, synchronous: "NORMAL" };
      return new StateFolder(state, openCache({ file: path.join(folder, "cache.db"), pragmas: disposable }));
    } catch (error) {
      state.database.abandon();
      throw error;
    }
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

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new StorageError("io", { file: folder, cause, disposable: false, hint: folderHint });
  }
}

const folderHint =
  "Make the folder, for the service's user to write in, or name another one (state.folder); then restart the service.";
