import { Database } from "../../../storage/database/database.ts";
import { cacheMigrations } from "../../../storage/schema.ts";

export const limits = { stall: 90_000, blip: 10_000 };

/** An empty cache, in memory. */
export const openCache = (): Database =>
  Database.open({
    file: ":memory:",
    migrations: cacheMigrations,
    pragmas: {
      synchronous: "NORMAL",
      cacheKiB: 512,
      mmapMiB: 0,
      walAutocheckpointPages: 256,
      journalSizeLimitKiB: 1024,
    },
  });
