import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

/** How often another build may take the place in between. */
const mostTries = 5;

/**
 * Fills a new folder beside this one, and then puts it in its place. If `fill` fails, the former folder stays. There is
 * no folder for the instant between two renames, and after a power cut then; the next build makes it.
 */
export async function replaceFolder(folder: string, fill: (folder: string) => Promise<unknown>): Promise<void> {
  const work = mkdtempSync(`${folder}-`);
  const fresh = path.join(work, "new");
  try {
    await fill(fresh);
    for (let tries = 1; ; tries++) {
      const former = path.join(work, `former-${tries}`);
      if (existsSync(folder)) renameSync(folder, former);
      try {
        renameSync(fresh, folder);
        return;
      } catch (error) {
        if (!existsSync(folder) && existsSync(former)) renameSync(former, folder);
        if (tries === mostTries) throw error;
      }
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
