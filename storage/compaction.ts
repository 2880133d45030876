import Sqlite from "better-sqlite3";
import { faultOf, firstProblem, type Inspection, presentSize } from "./inspection.ts";

export type Compaction =
  | { readonly kind: "compacted"; readonly before: number; readonly after: number }
  | Exclude<Inspection, { readonly kind: "sound" }>;

/**
 * Writes a database anew that no agent has open. Whoever runs this may be another user than the agent's, so a file is never
 * made here, and a damaged one is left as it is: what a new one belongs to is the agent's business. A power cut in between
 * leaves the file as it was.
 */
export function compactFile(file: string): Compaction {
  try {
    const before = presentSize(file);
    if (before === undefined) return { kind: "absent" };
    const driver = new Sqlite(file, { timeout: 250, fileMustExist: true });
    try {
      // Nobody may open it meanwhile; and no file of shared memory is left behind.
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
