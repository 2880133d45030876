import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { giveBack } from "./database/give-back.ts";
import { makeFolder } from "./make-folder.ts";
import { Memo } from "./memo.ts";
import { type FolderOptions, StateFolder } from "./state-folder.ts";

/**
 * A folder in memory that replaces a state folder that cannot be written, so that the agent can continue to read and
 * report. It begins with a copy of state.db, so that counters continue, and accepted commands are recognised.
 */
export interface Makeshift {
  /** Path of the folder in memory. */
  readonly at: string;
  /** Path of the state folder that it replaces. */
  readonly of: string;
  /** Whether state.db could be copied. If not, facts stored in the makeshift are lost with it. */
  readonly isCopy: boolean;
}

/** Creates the makeshift at `at`, a path that nothing else uses; the remains of an earlier process are deleted. */
export function makeMakeshift(at: string, of: string): Makeshift {
  rmSync(at, { recursive: true, force: true });
  makeFolder(path.dirname(at));
  mkdirSync(at, { mode: 0o700 });
  return { at, of, isCopy: copied(of, at) };
}

/**
 * Opens the makeshift with an empty outbox, because messages sent from a copy would later be sent again from the state
 * folder.
 */
export function openMakeshift(at: string, options: Omit<FolderOptions, "folder"> & { readonly standsIn: string }) {
  const folder = StateFolder.open({ ...options, folder: at });
  const { database } = folder.state;
  database.prepareOnce("DELETE FROM outbox").run();
  giveBack(database);
  return folder;
}

/**
 * Copies the memo of the makeshift to the state folder, which is writable again, in one transaction, then deletes the
 * makeshift. Facts about the cache are not copied, because the makeshift had another cache.
 */
export function carryBack(makeshift: Makeshift, into: StateFolder, options: Omit<FolderOptions, "folder">): void {
  const { at, isCopy } = makeshift;
  if (isCopy) {
    const from = StateFolder.open({ ...options, folder: at });
    try {
      const [source, target] = [new Memo(from.state.database), new Memo(into.state.database)];
      into.state.database.transaction(() => {
        for (const area of source.areas()) {
          if (area === "cache") continue;
          for (const [key, value] of source.entries(area)) target.set(area, key, value);
        }
      });
    } finally {
      from.closeWithoutCheckpoint();
    }
  }
  rmSync(at, { recursive: true, force: true });
}

/**
 * Throws unless state.db can be written, because some failed file systems open a file and report errors only on a
 * write.
 */
export const proveUsable = ({ state }: StateFolder, stamp: string): void =>
  new Memo(state.database).set("state folder", "usable since", stamp);

function copied(of: string, at: string): boolean {
  // The log is copied first, because without it, the database lacks the newest facts.
  const names = ["state.db-wal", "state.db"];
  try {
    for (const name of names) {
      const file = path.join(of, name);
      if (existsSync(file)) copyFileSync(file, path.join(at, name));
    }
    return true;
  } catch {
    for (const name of names) rmSync(path.join(at, name), { force: true });
    return false;
  }
}
