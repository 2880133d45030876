import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncFolder, writeNew } from "../config/durable-file.ts";

/** A file to be written, in full. */
export interface WantedFile {
  readonly path: string;
  readonly text: string;
  /** 0o600 for what is secret. */
  readonly mode: number;
}

/** Beside the file until all of them are on disk. */
const beside = (path: string): string => `${path}.enrolling`;

/**
 * Writes several files so that after a power cut either all are as before or all can be brought to be new: every text goes
 * to disk beside its file, then the list of them (`ledger`), and only then the files change their names. A certificate
 * without its key would be worse than none.
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

/** Whether a former run was cut short after it had everything on disk. */
export const isUnfinished = (ledger: string): boolean => existsSync(ledger);

/** Ends what a former run began; where it did not get that far, there is nothing to end. May be cut short itself. */
export function finish(ledger: string): readonly string[] {
  const paths = pathsIn(ledger);
  for (const path of paths) if (existsSync(beside(path))) renameSync(beside(path), path);
  for (const folder of new Set(paths.map((path) => dirname(path)))) syncFolder(folder);
  rmSync(ledger, { force: true });
  return paths;
}

/** A list that the disk has lost names nothing: what it was to end has to be begun again, and must not be kept from that. */
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

/** Made anew, so that nobody who has the former one open reads what is secret. */
function writeAnew(path: string, text: string, mode: number): void {
  rmSync(path, { force: true });
  writeNew(path, text, mode);
}
