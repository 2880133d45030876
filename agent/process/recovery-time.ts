import { statSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../base/clock.ts";

/** The lowest throughput of an old card under load, in bytes per millisecond. */
const slowest = 1024;

/** Opening times up to this one fit into the unit's TimeoutStartSec. */
const longStart: Millis = 45_000;

/**
 * An estimate of the time that opening a state folder takes; undefined if it is short. SQLite reads logs left by a
 * power cut, and the whole of a damaged file. Opening blocks the process, so the estimate is sent to the service
 * manager first.
 */
export function recoveryTime(folder: string): Millis | undefined {
  const files = ["state.db", "state.db-wal", "cache.db", "cache.db-wal"];
  const bytes = files.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  const time = bytes / slowest;
  return time > longStart ? 2 * time : undefined;
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}
