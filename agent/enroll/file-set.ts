import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder, writeNew } from "../config/durable-file.ts";

/** A file to write, with its whole content. */
export interface WantedFile {
  readonly path: string;
  readonly text: string;
  /** File mode; 0o600 for secrets. */
  readonly mode: number;
}

/** The temporary name of a file until all files are on disk. */
const temporary = (path: string): string => `${path}.enrolling`;

/**
 * Writes several files as one: after a power cut, either all files are old, or `finish` completes the write. Each text
 * is first written to a temporary file, then the list of files to `ledger`, and only then are the temporary files
 * renamed. A certificate without its key would be worse than none.
 */
export function writeAll(files: readonly WantedFile[], ledger: string): void {
  finish(ledger);
  for (const { path, text, mode } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeAnew(temporary(path), text, mode);
  }
  mkdirSync(dirname(ledger), { recursive: true });
  writeAnew(temporary(ledger), JSON.stringify(files.map(({ path }) => path)), 0o600);
  for (const { path } of files) syncFolder(dirname(path));
  renameSync(temporary(ledger), ledger);
  syncFolder(dirname(ledger));
  finish(ledger);
}

/** Whether an earlier run was interrupted after it had written all temporary files and the ledger. */
export const isUnfinished = (ledger: string): boolean => existsSync(ledger);

/**
 * Completes an interrupted run if it wrote its ledger, and returns the paths of its files. If interrupted, it can be
 * called again.
 */
export function finish(ledger: string): readonly string[] {
  const paths = pathsIn(ledger);
  for (const path of paths) if (existsSync(temporary(path))) renameSync(temporary(path), path);
  for (const folder of new Set(paths.map((path) => dirname(path)))) syncFolder(folder);
  rmSync(ledger, { force: true });
  return paths;
}

/** The paths in the ledger; none if it is damaged. The enrolment must then be repeated, and must not fail here. */
function pathsIn(ledger: string): readonly string[] {
  if (!existsSync(ledger)) return [];
  try {
    const found: unknown = JSON.parse(readFileSync(ledger, "utf8"));
    return Array.isArray(found) ? found.filter((path) => typeof path === "string") : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** Replaces the file with a new one, so that a process that has the old one open cannot read the secret. */
function writeAnew(path: string, text: string, mode: number): void {
  rmSync(path, { force: true });
  writeNew(path, text, mode);
}
