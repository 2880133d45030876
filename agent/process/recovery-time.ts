import { statSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../base/clock.ts";

/** An old card under load, in bytes per millisecond. */
const slowest = 1024;

/** Less is within the time that a start has anyway (TimeoutStartSec). */
const worthSaying: Millis = 45_000;

/**
 * How long it may take to open a state folder, where that is long: logs that a power cut left behind are read, what is
 * damaged is read as a whole. Opening waits for nothing and tells nothing meanwhile, so it is said beforehand.
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
