import type { Database } from "../../storage/database/database.ts";
import { giveBack } from "../../storage/database/give-back.ts";
import { fileWalk } from "../../storage/file-walk.ts";
import type { Ambient } from "../base/ambient.ts";
import { isWorn } from "../board/limits.ts";
import type { BoardReadings } from "../board/sensors/readings.ts";
import { inPortions } from "./portions.ts";
import type { Task } from "./upkeep.ts";

/** Checks a whole database, in steps. Damage ends this run of the agent; the next run begins with a new file. */
export const integrityCheck = (ambient: Ambient, database: Database): Task => ({
  name: "integrity check",
  run: async (signal) => {
    const longest = await inPortions(ambient, fileWalk(database), signal);
    if (!signal.aborted)
      ambient.log.debug("database checked", { file: database.file, longestStepMs: Math.round(longest) });
  },
});

/** Checkpoints the log and frees unused pages. If that fails, the next maintenance tries again. */
export const tidying = ({ log }: Ambient, database: Database): Task => ({
  name: "tidying",
  run: async () => {
    try {
      database.checkpoint();
      const bytes = giveBack(database);
      if (bytes > 0) log.info("database shrunk", { file: database.file, bytes });
    } catch (error) {
      log.warn("database maintenance failed", { file: database.file, error });
    }
  },
});

/** Logs the wear of the storage at each maintenance. */
export const wearReport = (
  { log }: Ambient,
  board: { readonly readings: () => BoardReadings | undefined; readonly bytesWrittenLastDay: () => number | undefined },
): Task => ({
  name: "wear report",
  run: async () => {
    const readings = board.readings();
    if (!readings) return;
    const { device, kind, wear } = readings.storage;
    log[isWorn(wear) ? "warn" : "info"]("storage wear", {
      device,
      kind,
      writtenBytes24h: board.bytesWrittenLastDay(),
      usedPercent: wear?.usedPercent,
      reserve: wear?.reserve,
    });
  },
});
