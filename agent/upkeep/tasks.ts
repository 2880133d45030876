import type { Database } from "../../storage/database.ts";
import { fileWalk } from "../../storage/file-walk.ts";
import { giveBack } from "../../storage/give-back.ts";
import type { Ambient } from "../base/ambient.ts";
import { isWorn } from "../board/limits.ts";
import type { BoardReadings } from "../board/readings.ts";
import { inPortions } from "./portions.ts";
import type { Task } from "./upkeep.ts";

/** Reads a database through, in steps. Damage ends the agent's run; the next one starts with a new file. */
export const integrityCheck = (ambient: Ambient, database: Database): Task => ({
  name: "integrity check",
  run: async (signal) => {
    const longest = await inPortions(ambient, fileWalk(database), signal);
    if (!signal.aborted)
      ambient.log.debug("database read through", { file: database.file, longestStepMs: Math.round(longest) });
  },
});

/** Checkpoints the WAL and frees unused pages. A full disk is reported elsewhere; the next maintenance tries again. */
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

/** Logs the wear of the storage medium once per maintenance. */
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
