import { closeSync, constants, fchmodSync, openSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Replaces a file in one step: a reader sees the old text or the new one, never a part. Not synced to the medium: the
 * file lies on a tmpfs, and says nothing worth keeping about a boot that is over.
 */
export function replaceFile(file: string, text: string): void {
  const beside = join(dirname(file), `.${basename(file)}.tmp`);
  // A link that somebody planted there is not followed: what it points to is not ours to truncate.
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  const handle = openSync(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644);
  try {
    // Whatever the umask: monitoring runs as another user.
    fchmodSync(handle, 0o644);
    writeFileSync(handle, text);
  } finally {
    closeSync(handle);
  }
  renameSync(beside, file);
}
