import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Creates a new file with this mode and syncs its content to disk. To sync its name as well, call `syncFolder`. */
export function writeNew(file: string, text: string, mode: number): void {
  const handle = openSync(file, "wx", mode);
  try {
    // The umask may have removed bits of the mode.
    fchmodSync(handle, mode);
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Syncs the names in a folder to disk. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Replaces a file atomically and syncs it to disk. After a power cut, either the previous file or the new one is there.
 */
export function replaceDurably(file: string, text: string, mode: number): void {
  const beside = join(dirname(file), `.${basename(file)}.tmp`);
  rmSync(beside, { force: true });
  writeNew(beside, text, mode);
  renameSync(beside, file);
  syncFolder(dirname(file));
}
