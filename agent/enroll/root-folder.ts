import { accessSync, constants, readlinkSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { codeOf } from "../config/read-text.ts";

/** Folders that every system has. If they are missing, the path is wrong, or the card is not mounted. */
const requiredFolders = ["etc", "usr"];

/** Why the folder is not the root of a system; undefined if it is. */
export function rootProblem(root: string): string | undefined {
  if (!isFolder(root)) return `${root} is not a folder: is the card mounted?`;
  const missing = requiredFolders.filter((name) => !isFolder(join(root, name)));
  return missing.length === 0
    ? undefined
    : `${root} is not the root of a system: it has no ${missing.map((name) => `${name}/`).join(" and no ")}`;
}

/** Maximum number of symbolic links in a path, as in Linux. */
const maxLinks = 40;

/**
 * The path of a folder below the root, with symbolic links followed as on the board itself: an absolute link begins at
 * that root, not at this machine's. The folder need not exist. Throws a ConfigError if the target of a link does not
 * exist, because it may be on a partition that is not mounted, which would later hide the written files.
 */
export function folderBelow(root: string, folder: string): string {
  const top = resolve(root);
  let links = 0;
  const walk = (path: string): string => {
    let at = top;
    for (const name of path.split("/")) {
      const next = name === ".." ? (at === top ? top : dirname(at)) : join(at, name);
      const link = linkAt(next);
      if (link === undefined) {
        at = next;
        continue;
      }
      links += 1;
      if (links > maxLinks) throw new ConfigError([`${next} is in a loop of symbolic links; nothing was written`]);
      const target = walk(isAbsolute(link) ? link : `${relative(top, at)}/${link}`);
      if (!isFolder(target)) throw deadLink(next, link, target);
      at = target;
    }
    return at;
  };
  return walk(folder);
}

const deadLink = (path: string, link: string, target: string): ConfigError =>
  new ConfigError([
    `${path} is a symbolic link to ${link}, but ${target} is not a folder: mount what belongs there, or create it; ` +
      "nothing was written",
  ]);

/** The target of a symbolic link; undefined if the path is not a link, or if this user is not allowed to find out. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Throws unless this user may write the files; called before prompting and before network access. */
export function checkWritable(files: readonly string[]): void {
  for (const folder of new Set(files.map(existingAbove))) accessSync(folder, constants.W_OK | constants.X_OK);
}

function existingAbove(file: string): string {
  let folder = dirname(file);
  while (!isFolder(folder) && folder !== dirname(folder)) {
    const link = linkAt(folder);
    if (link !== undefined) throw deadLink(folder, link, resolve(dirname(folder), link));
    folder = dirname(folder);
  }
  return folder;
}

/** Whether the path is a folder; also true if this user is not allowed to find out. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
}
