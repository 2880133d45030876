import type { Database } from "./database.ts";

export interface Room {
  /** Size of the whole file. */
  readonly bytes: number;
  /** Size of its free pages, which SQLite reuses before the file grows. */
  readonly freeBytes: number;
}

export function roomIn(database: Database): Room {
  const number = (of: "page_count" | "freelist_count" | "page_size"): number =>
    database.prepareOnce<Readonly<Record<string, number>>>(`PRAGMA ${of}`).get()?.[of] ?? 0;
  const size = number("page_size");
  return { bytes: number("page_count") * size, freeBytes: number("freelist_count") * size };
}

/**
 * Maximum number of bytes in used pages. A vacuum blocks everything else while it rewrites them; with more of them,
 * that would take too long.
 */
const maxUsed = 1024 * 1024;
/** Minimum number of bytes in free pages. A vacuum that frees less is not worth its writes. */
const minFree = 1024 * 1024;

/**
 * Returns free pages to the file system if there are many of them and few used ones. Otherwise, they remain in the file
 * for reuse. auto_vacuum, which would free them gradually, is not used, because SQLite then writes a third more to the
 * log. Returns the freed bytes.
 */
export function giveBack(database: Database): number {
  const { bytes, freeBytes } = roomIn(database);
  if (freeBytes < minFree || bytes - freeBytes > maxUsed) return 0;
  vacuum(database);
  return Math.max(0, bytes - roomIn(database).bytes);
}

/** Rewrites the whole file, regardless of how long that takes. Needs free disk space of the size of the file. */
export function vacuum(database: Database): void {
  database.prepareOnce("VACUUM").run();
  database.checkpoint();
}
