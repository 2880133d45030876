import { closeSync, constants, fchmodSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Replaces a file atomically: readers see the old text or the new one. The file is not synced, because it is in memory
 * and useless after a reboot.
 */
export function replaceFile(file: string, text: string): void {
  const beside = join(dirname(file), `.${basename(file)}.tmp`);
  // Removed and recreated: a symlink that another user planted must not lead to the truncation of its target, and a
  // FIFO would block the process for ever.
  rmSync(beside, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  const handle = openSync(beside, O_WRONLY | O_CREAT | O_EXCL, 0o644);
  try {
    // Readable for all regardless of the umask, because monitoring runs as another user.
    fchmodSync(handle, 0o644);
    writeFileSync(handle, text);
  } finally {
    closeSync(handle);
  }
  renameSync(beside, file);
}
