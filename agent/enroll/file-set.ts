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

/** Temporary name until all files are on disk. */
const beside = (path: string): string => `${path}.enrolling`;

/**
 * Writes several files so that after a power cut either all are old, or all can be made new: writes each text to a
 * temporary file, then the list of files (`ledger`), and only then renames. A certificate without its key would be
 * worse than none.
 */
export function writeAll(files: readonly WantedFile[], ledger: string): void {
  finish(ledger);
  for (const { path, text, mode } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeAnew(beside(path), text, mode);
  }
  mkdirSync(dirname(ledger), { recursive: true });
  writeAnew(beside(ledger), JSON.stringify(files.map(({ path }) => path)), 0o600);
  for (const { path } of files) syncFolder(dirname(path));
  renameSync(beside(ledger), ledger);
  syncFolder(dirname(ledger));
  finish(ledger);
}

/** Whether an earlier run was interrupted after it had written everything to disk. */
export const isUnfinished = (ledger: string): boolean => existsSync(ledger);

/** Completes an interrupted run, if it had written its ledger. May be interrupted itself. */
export function finish(ledger: string): readonly string[] {
  const paths = pathsIn(ledger);
  for (const path of paths) if (existsSync(beside(path))) renameSync(beside(path), path);
  for (const folder of new Set(paths.map((path) => dirname(path)))) syncFolder(folder);
  rmSync(ledger, { force: true });
  return paths;
}

/** A truncated ledger names no files: the enrolment has to be repeated, and must not fail here. */
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

/** Creates a new file: a process that has the old one open must not read the secret. */
function writeAnew(path: string, text: string, mode: number): void {
  rmSync(path, { force: true });
  writeNew(path, text, mode);
}
