import Sqlite from "better-sqlite3";
import { firstProblem } from "./error-translator.ts";
import { faultOf, type Inspection, presentSize } from "./inspection.ts";

export type Compaction =
  | { readonly kind: "compacted"; readonly before: number; readonly after: number }
  | Exclude<Inspection, { readonly kind: "sound" }>;

/**
 * Vacuums a database that no agent has open. It may run as a different user from the agent, so it does not create files
 * that the agent could not write, and leaves a damaged file to the agent. A power cut during the vacuum leaves the file
 * unchanged.
 */
export function compactFile(file: string): Compaction {
  try {
    const before = presentSize(file);
    if (before === undefined) return { kind: "absent" };
    const driver = new Sqlite(file, { timeout: 250, fileMustExist: true });
    try {
      // No other process can open the file at the same time, and no shared-memory file is left behind.
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
