import { statSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../base/clock.ts";

/** Throughput of an old card under load, in bytes per millisecond. */
const slowest = 1024;

/** A shorter time fits into the time that a start has anyway (TimeoutStartSec). */
const worthSaying: Millis = 45_000;

/**
 * An estimate of how long opening a state folder takes, if that is long: SQLite reads the logs that a power cut left,
 * and a damaged file as a whole. Opening blocks and reports nothing, so the estimate is sent beforehand.
 */
export function recoveryTime(folder: string): Millis | undefined {
  const files = ["state.db", "state.db-wal", "cache.db", "cache.db-wal"];
  const bytes = files.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  const time = bytes / slowest;
  return time > worthSaying ? 2 * time : undefined;
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}
