import { accessSync, constants, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../config/read-text.ts";

/** Folders that every system has. If they are missing, the path is wrong, or the card is not mounted. */
const requiredFolders = ["etc", "usr"];

/** Why the folder is not the root of a system; undefined: it is. */
export function rootProblem(root: string): string | undefined {
  if (!isFolder(root)) return `${root} is not a folder: is the card mounted?`;
  const missing = requiredFolders.filter((name) => !isFolder(join(root, name)));
  return missing.length === 0
    ? undefined
    : `${root} is not the root of a system: it has no ${missing.map((name) => `${name}/`).join(" and no ")}`;
}

/** Throws unless this user may write the files; called before prompting and before network access. */
export function checkWritable(files: readonly string[]): void {
  for (const folder of new Set(files.map(existingAbove))) accessSync(folder, constants.W_OK | constants.X_OK);
}

function existingAbove(file: string): string {
  let folder = dirname(file);
  while (!isFolder(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Whether the path is a folder; also true if this user may not find out. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
}
