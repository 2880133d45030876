import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { giveBack } from "./give-back.ts";
import { makeFolder } from "./make-folder.ts";
import { Memo } from "./memo.ts";
import { type FolderOptions, StateFolder } from "./state-folder.ts";

/**
 * A folder in memory that stands in for a state folder that cannot be written: the agent goes on reading and reporting.
 * It begins with a copy of state.db, so that counters continue and accepted commands are recognised.
 */
export interface Makeshift {
  readonly at: string;
  readonly of: string;
  /** state.db could be copied; only then do facts learnt here continue it. */
  readonly isCopy: boolean;
}

/** `at` belongs to us alone: anything there is left over from an earlier process. */
export function makeMakeshift(at: string, of: string): Makeshift {
  rmSync(at, { recursive: true, force: true });
  makeFolder(path.dirname(at));
  mkdirSync(at, { mode: 0o700 });
  return { at, of, isCopy: copied(of, at) };
}

/** Empties the copied outbox: messages sent from here would be sent again from the state folder. */
export function openMakeshift(at: string, options: Omit<FolderOptions, "folder"> & { readonly standsIn: string }) {
  const folder = StateFolder.open({ ...options, folder: at });
  const { database } = folder.state;
  database.fresh("DELETE FROM outbox").run();
  giveBack(database);
  return folder;
}

/**
 * Copies the facts learnt meanwhile to the state folder, which is writable again, in one transaction, then deletes the
 * makeshift. The cluster that the cache was filled from is left out: that was another cache.
 */
export function carryBack(makeshift: Makeshift, into: StateFolder, options: Omit<FolderOptions, "folder">): void {
  const { at, isCopy } = makeshift;
  if (isCopy) {
    const from = StateFolder.open({ ...options, folder: at });
    try {
      const [learnt, kept] = [new Memo(from.state.database), new Memo(into.state.database)];
      into.state.database.transaction(() => {
        for (const area of learnt.areas()) {
          if (area === "cache") continue;
          for (const [key, value] of learnt.entries(area)) kept.set(area, key, value);
        }
      });
    } finally {
      from.abandon();
    }
  }
  rmSync(at, { recursive: true, force: true });
}

/** A file that opens may still be unwritable: some failed file systems report errors only on a write. */
export const proveUsable = ({ state }: StateFolder, stamp: string): void =>
  new Memo(state.database).set("state folder", "usable since", stamp);

function copied(of: string, at: string): boolean {
  // The log first: without it the file is older than what was promised.
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
