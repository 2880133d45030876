import { accessSync, constants, readdirSync, realpathSync, statfsSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { endingDigits } from "../../base/text/ending-digits.ts";
import type { ReadFact } from "../facts.ts";
import { readFact } from "../read-fact.ts";

/** Access to /sys and /proc. Tests supply another root with their own files. */
export interface BoardFiles {
  readonly read: ReadFact;
  /** The names in a folder, sorted; empty if the folder does not exist. */
  names(folder: string): readonly string[];
  /** The path with all symbolic links resolved; undefined if it does not exist or lies outside the root. */
  real(path: string): string | undefined;
  /** The free bytes of the folder's file system; undefined if the folder does not exist. */
  freeBytes(folder: string): number | undefined;
  /** True if the file system refuses writes (EROFS). */
  isReadOnly(folder: string): boolean;
}

/** All methods are synchronous, because the kernel answers from memory. None of them throws. */
export function boardFiles(root = "/"): BoardFiles {
  const at = (path: string): string => join(root, path);
  return {
    read: (file) => readFact(at(file)),
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

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The content of a file that holds one whole number; undefined if it does not. */
export function numberIn(files: BoardFiles, file: string): number | undefined {
  const text = files.read(file)?.trim() ?? "";
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** The first line of a file, up to 100 characters; undefined if it is empty or the file cannot be read. */
export function wordIn(files: BoardFiles, file: string): string | undefined {
  const text = files.read(file)?.split("\n")[0]?.replaceAll("\0", "").trim();
  return text ? text.slice(0, 100) : undefined;
}

/** The paths of the entries whose names begin with this prefix, ordered by their number: …/hwmon0, …/hwmon1. */
export const entries = (files: BoardFiles, folder: string, prefix: string): readonly string[] =>
  files
    .names(folder)
    .filter((name) => name.startsWith(prefix))
    .sort((a, b) => numbered(a) - numbered(b))
    .map((name) => join(folder, name));

const numbered = (name: string): number => Number(endingDigits(basename(name)));
