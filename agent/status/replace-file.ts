import { closeSync, constants, fchmodSync, openSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Replaces a file atomically: readers see the old text or the new one. Not synced: the file lies on a tmpfs, and is
 * worthless after the boot.
 */
export function replaceFile(file: string, text: string): void {
  const beside = join(dirname(file), `.${basename(file)}.tmp`);
  // Never follow a planted symlink: its target is not ours to truncate.
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const handle = openSync(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644);
  try {
    // Regardless of the umask: monitoring runs as another user.
    fchmodSync(handle, 0o644);
    writeFileSync(handle, text);
  } finally {
    closeSync(handle);
  }
  renameSync(beside, file);
}
