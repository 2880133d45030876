import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Creates a new file. On return its content is on disk; its name is, once the folder is synced. */
export function writeNew(file: string, text: string, mode: number): void {
  const handle = openSync(file, "wx", mode);
  try {
    // Whatever the umask.
    fchmodSync(handle, mode);
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes new names in the folder durable. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** On disk as a whole when it returns; a power cut leaves the former file or this one. */
export function replaceDurably(file: string, text: string, mode: number): void {
  const beside = join(dirname(file), `.${basename(file)}.tmp`);
  rmSync(beside, { force: true });
  writeNew(beside, text, mode);
  renameSync(beside, file);
  syncFolder(dirname(file));
}
