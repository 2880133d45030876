import Sqlite from "better-sqlite3";
import { faultOf, firstProblem, type Inspection, presentSize } from "./inspection.ts";

export type Compaction =
  | { readonly kind: "compacted"; readonly before: number; readonly after: number }
  | Exclude<Inspection, { readonly kind: "sound" }>;

/**
 * Vacuums a database that no agent has open. It may run as another user than the agent's, so it never creates a file
 * and leaves a damaged one alone: a new file's owner is the agent's business. A power cut in between leaves the file as
 * it was.
 */
export function compactFile(file: string): Compaction {
  try {
    const before = presentSize(file);
    if (before === undefined) return { kind: "absent" };
    const driver = new Sqlite(file, { timeout: 250, fileMustExist: true });
    try {
      // Keeps others from opening the file meanwhile, and leaves no shared-memory file behind.
      driver.exec("PRAGMA locking_mode = EXCLUSIVE");
      const why = firstProblem(driver);
      if (why !== undefined) return { kind: "damaged", why };
      driver.exec("VACUUM");
      driver.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      driver.close();
    }
    return { kind: "compacted", before, after: presentSize(file) ?? 0 };
  } catch (error) {
    return faultOf(error);
  }
}
