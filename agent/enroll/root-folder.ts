import { accessSync, constants, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../config/read-text.ts";

/** What every system has: a folder without them is a typing mistake, or a card that is not mounted. */
const partsOfASystem = ["etc", "usr"];

/** Why nothing can be enrolled below this folder; undefined: it holds a system. */
export function rootProblem(root: string): string | undefined {
  if (!isFolder(root)) return `${root} is no folder: is the card mounted?`;
  const missing = partsOfASystem.filter((name) => !isFolder(join(root, name)));
  return missing.length === 0
    ? undefined
    : `${root} is not the root of a system: it has no ${missing.map((name) => `${name}/`).join(" and no ")}`;
}

/** Throws where this user may not write there, or nobody can: asked before a person is, and before the network. */
export function checkWritable(files: readonly string[]): void {
  for (const folder of new Set(files.map(existingAbove))) accessSync(folder, constants.W_OK | constants.X_OK);
}

function existingAbove(file: string): string {
  let folder = dirname(file);
  while (!isFolder(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** One that may not be looked at is there. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
}
