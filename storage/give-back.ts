import type { Database } from "./database.ts";

export interface Room {
  readonly bytes: number;
  /** Of pages that hold nothing; they are used again before the file grows. */
  readonly freeBytes: number;
}

export function roomIn(database: Database): Room {
  const number = (of: "page_count" | "freelist_count" | "page_size"): number =>
    database.fresh<Readonly<Record<string, number>>>(`PRAGMA ${of}`).get()?.[of] ?? 0;
  const size = number("page_size");
  return { bytes: number("page_count") * size, freeBytes: number("freelist_count") * size };
}

/** What is live is written anew, in one go: a file of which more is live would keep everything else waiting. */
const mostLive = 1024 * 1024;
const leastFree = 1024 * 1024;

/**
 * Gives free pages back to the disk, where that is much for little. Files that could give pages back bit by bit (auto_vacuum)
 * write a third more into their log, on every day; so what is free usually stays free in the file. Answers the bytes.
 */
export function giveBack(database: Database): number {
  const { bytes, freeBytes } = roomIn(database);
  if (freeBytes < leastFree || bytes - freeBytes > mostLive) return 0;
  vacuum(database);
  return Math.max(0, bytes - roomIn(database).bytes);
}

/** Writes the whole file anew, however long that takes. Needs as much room again. */
export function vacuum(database: Database): void {
  database.fresh("VACUUM").run();
  database.checkpoint();
}
