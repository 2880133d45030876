import { Database, type Pragmas } from "../../storage/database/database.ts";
import type { Migration } from "../../storage/database/migrations.ts";

const pragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 1024,
  mmapMiB: 0,
  walAutocheckpointPages: 400,
  journalSizeLimitKiB: 1024,
};

/**
 * A database like that on a board's disk, which exists as long as a case runs. Committed data survives a restart within
 * the case.
 */
export const inMemory = (migrations: readonly Migration[]): Database =>
  Database.open({ file: ":memory:", migrations, pragmas });
