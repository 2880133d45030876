import type { Database } from "../../storage/database.ts";
import { fileWalk } from "../../storage/file-walk.ts";
import { giveBack } from "../../storage/give-back.ts";
import type { Ambient } from "../base/ambient.ts";
import { isWorn } from "../board/limits.ts";
import type { BoardReadings } from "../board/readings.ts";
import { inPortions } from "./portions.ts";
import type { Task } from "./upkeep.ts";

/** Reads a database through, in steps. Damage ends the life of the agent: the next one begins with a file made anew. */
export const integrityCheck = (ambient: Ambient, database: Database): Task => ({
  name: "integrity check",
  run: async (signal) => {
    const longest = await inPortions(ambient, fileWalk(database), signal);
    if (!signal.aborted)
      ambient.log.debug("database read through", { file: database.file, longestStepMs: Math.round(longest) });
  },
});

/** Folds the log in, and gives back what is free. A disk that is full is told by others, and tried again tomorrow. */
export const tidying = ({ log }: Ambient, database: Database): Task => ({
  name: "tidying",
  run: async () => {
    try {
      database.checkpoint();
      const bytes = giveBack(database);
      if (bytes > 0) log.info("free pages given back", { file: database.file, bytes });
    } catch (error) {
      log.warn("a database could not be tidied", { file: database.file, error });
    }
  },
});

/** One line a day on what the medium has to bear. */
export const wearReport = (
  { log }: Ambient,
  board: { readonly readings: () => BoardReadings | undefined; readonly writtenLastDay: () => number | undefined },
): Task => ({
  name: "wear report",
  run: async () => {
    const readings = board.readings();
    if (!readings) return;
    const { device, kind, wear } = readings.storage;
    log[isWorn(wear) ? "warn" : "info"]("storage wear", {
      device,
      kind,
      writtenBytes24h: board.writtenLastDay(),
      usedPercent: wear?.usedPercent,
      reserve: wear?.reserve,
    });
  },
});
