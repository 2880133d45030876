import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { giveBack } from "./give-back.ts";
import { makeFolder } from "./make-folder.ts";
import { Memo } from "./memo.ts";
import { type FolderOptions, StateFolder } from "./state-folder.ts";

/**
 * A folder in memory that stands in for a state folder which takes no change: the agent goes on reading and telling there.
 * It begins with a copy of what the agent remembers, so that it counts on and knows again what it had accepted.
 */
export interface Makeshift {
  readonly at: string;
  readonly of: string;
  /** What was remembered could be read: only then does what is learnt here continue it. */
  readonly isCopy: boolean;
}

/** `at` is ours alone: whatever is there is what an earlier process left. */
export function makeMakeshift(at: string, of: string): Makeshift {
  rmSync(at, { recursive: true, force: true });
  makeFolder(path.dirname(at));
  mkdirSync(at, { mode: 0o700 });
  return { at, of, isCopy: copied(of, at) };
}

/** What waits for the broker stays behind: sent from here, it would be sent once more from there. */
export function openMakeshift(at: string, options: Omit<FolderOptions, "folder"> & { readonly standsIn: string }) {
  const folder = StateFolder.open({ ...options, folder: at });
  const { database } = folder.state;
  database.fresh("DELETE FROM outbox").run();
  giveBack(database);
  return folder;
}

/**
 * The state folder takes changes again: what was learnt meanwhile belongs there, in one transaction. Not which cluster the
 * cache was filled from: that was another cache. Then the makeshift is gone.
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

/** A file that opens may still take no change: some file systems that failed say so only when something is written. */
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
