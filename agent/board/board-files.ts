import { accessSync, constants, readdirSync, readFileSync, realpathSync, statfsSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { endingDigits } from "../base/ending-digits.ts";
import type { ReadFact } from "./facts.ts";

/** Access to /sys and /proc. Tests put their own tree under another root. */
export interface BoardFiles {
  readonly read: ReadFact;
  /** The names in a folder, sorted; empty if the folder does not exist. */
  names(folder: string): readonly string[];
  /** The path with all links resolved; undefined: it leads nowhere, or out of the tree. */
  real(path: string): string | undefined;
  freeBytes(folder: string): number | undefined;
  /** The file system refuses writes. */
  isReadOnly(folder: string): boolean;
}

/** A kernel attribute is one page at most, and the mount table a few hundred; longer texts are refused. */
const longest = 4 * 2 ** 20;

/** Every read is synchronous: the kernel answers from memory. No read throws. */
export function boardFiles(root = "/"): BoardFiles {
  const at = (path: string): string => join(root, path);
  return {
    read: (file) =>
      attempt(() => {
        const text = readFileSync(at(file), "utf8");
        return text.length > longest ? undefined : text;
      }),
    names: (folder) => attempt(() => readdirSync(at(folder)).sort()) ?? [],
    real: (path) =>
      attempt(() => {
        const found = relative(realpathSync(root), realpathSync(at(path)));
        return found.startsWith("..") ? undefined : `/${found}`;
      }),
    freeBytes: (folder) =>
      attempt(() => {
        const { bavail, bsize } = statfsSync(at(folder));
        return bavail * bsize;
      }),
    isReadOnly: (folder) => {
      try {
        accessSync(at(folder), constants.W_OK);
        return false;
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "EROFS";
      }
    },
  };
}

function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** A whole number, as most attributes are; undefined: there is none. */
export function numberIn(files: BoardFiles, file: string): number | undefined {
  const text = files.read(file)?.trim() ?? "";
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A word or a name: the first line, up to 100 characters. */
export function wordIn(files: BoardFiles, file: string): string | undefined {
  const text = files.read(file)?.split("\n")[0]?.replaceAll("\0", "").trim();
  return text ? text.slice(0, 100) : undefined;
}

/** The folders of a class whose name has this prefix: hwmon0, hwmon1, … */
export const entries = (files: BoardFiles, folder: string, prefix: string): readonly string[] =>
  files
    .names(folder)
    .filter((name) => name.startsWith(prefix))
    .sort((a, b) => numbered(a) - numbered(b))
    .map((name) => join(folder, name));

const numbered = (name: string): number => Number(endingDigits(basename(name)));
