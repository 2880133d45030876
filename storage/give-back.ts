import type { Database } from "./database.ts";

export interface Room {
  readonly bytes: number;
  /** Of free pages, which are reused before the file grows. */
  readonly freeBytes: number;
}

export function roomIn(database: Database): Room {
  const number = (of: "page_count" | "freelist_count" | "page_size"): number =>
    database.fresh<Readonly<Record<string, number>>>(`PRAGMA ${of}`).get()?.[of] ?? 0;
  const size = number("page_size");
  return { bytes: number("page_count") * size, freeBytes: number("freelist_count") * size };
}

/** In bytes. A vacuum rewrites all live data in one go; with more of it, everything else would wait too long. */
const mostLive = 1024 * 1024;
const leastFree = 1024 * 1024;

/**
 * Returns free pages to the disk when that frees much at little cost. Files that can shrink bit by bit (auto_vacuum)
 * write a third more into their log every day, so free pages usually stay in the file. Returns the freed bytes.
 */
export function giveBack(database: Database): number {
  const { bytes, freeBytes } = roomIn(database);
  if (freeBytes < leastFree || bytes - freeBytes > mostLive) return 0;
  vacuum(database);
  return Math.max(0, bytes - roomIn(database).bytes);
}

/** Rewrites the whole file, however long that takes. Needs as much free space again. */
export function vacuum(database: Database): void {
  database.fresh("VACUUM").run();
  database.checkpoint();
}
