import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import type { SqliteDriver } from "./database.ts";
import { kindOf } from "./errors.ts";

/** The result of inspecting a database from outside, without changing it. */
export type Inspection =
  | { readonly kind: "absent" }
  /** Its agent is running and holds the exclusive lock. */
  | { readonly kind: "busy" }
  | ({ readonly kind: "sound" } & DatabaseStats)
  | { readonly kind: "damaged" | "unreadable"; readonly why: string };

export interface DatabaseStats {
  readonly format: number;
  readonly fileBytes: number;
  /** 0: the agent stopped cleanly, or a checkpoint emptied the log. */
  readonly walBytes: number;
  readonly freeBytes: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
}

/** In bytes. Copying larger files would wear the card, or fill the memory if /tmp is there. */
const largestCopy = 256 * 2 ** 20;

/**
 * Inspects a file that an agent may be using. If one is running, the file is read in place, as any second reader would;
 * otherwise a copy is read, because opening a file that no process has open leaves parts of it behind. `counts`: skips
 * the check of the whole file, which takes seconds for a large one.
 */
export function inspect(file: string, isInUse: boolean, how: "whole" | "counts" = "whole"): Inspection {
  try {
    if (presentSize(file) === undefined) return { kind: "absent" };
    return withFile(file, isInUse, (at) => looked(at, file, how));
  } catch (error) {
    return faultOf(error);
  }
}

/** In bytes; undefined if the file does not exist; throws if it cannot be read. */
export const presentSize = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size;

/** Why a file could not be read. */
export function faultOf(error: unknown): Extract<Inspection, { kind: "busy" | "damaged" | "unreadable" }> {
  const why = error instanceof Error ? error.message : String(error);
  switch (kindOf(error)) {
    case "busy":
      return { kind: "busy" };
    case "damaged":
      return { kind: "damaged", why };
    default:
      return { kind: "unreadable", why };
  }
}

function withFile<T>(file: string, isInUse: boolean, read: (at: string) => T): T {
  if (isInUse) return read(file);
  if (sizeOf(file) + sizeOf(`${file}-wal`) > largestCopy)
    throw new Error("it is too large to be copied; its agent checks it while it runs");
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-look-"));
  try {
    const copy = path.join(folder, path.basename(file));
    copyFileSync(file, copy);
    if (presentSize(`${file}-wal`) !== undefined) copyFileSync(`${file}-wal`, `${copy}-wal`);
    return read(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One row of the journal: a delta received and not applied yet. */
export interface JournalTail {
  readonly seq: number;
  readonly resource: string;
  readonly type: string;
  readonly key: string;
  readonly version: string;
}

/** A cached object and its version. */
export interface Mirrored {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
}

/**
 * The first objects of a resource in a cache.db that its agent has open, by key; undefined if it is not mirrored.
 * Throws if the file cannot be read.
 */
export function mirrored(file: string, resource: string, most: number): readonly Mirrored[] | undefined {
  return reading(file, (driver) => {
    const found = driver.prepare("SELECT id FROM resources WHERE name = ? AND populated = 1").all(resource);
    if (found.length === 0) return undefined;
    const select = `SELECT key, uid, version FROM objects
      WHERE resource = (SELECT id FROM resources WHERE name = ?) ORDER BY key LIMIT ?`;
    return driver.prepare(select).all(resource, most) as readonly Mirrored[];
  });
}

/** The newest rows of cache.db's journal, newest last; or why they cannot be read. */
export function journalTail(
  file: string,
  isInUse: boolean,
  most: number,
): readonly JournalTail[] | Exclude<Inspection, { readonly kind: "sound" }> {
  const select = `SELECT j.seq AS seq, r.name AS resource, j.type AS type, j.key AS key, j.version AS version
    FROM journal j JOIN resources r ON r.id = j.resource ORDER BY j.seq DESC LIMIT ?`;
  try {
    if (presentSize(file) === undefined) return { kind: "absent" };
    return withFile(file, isInUse, (at) =>
      reading(at, (driver) => (driver.prepare(select).all(most) as readonly JournalTail[]).toReversed()),
    );
  } catch (error) {
    return faultOf(error);
  }
}

function looked(file: string, original: string, how: "whole" | "counts"): Inspection {
  return reading(file, (driver): Inspection => {
    const why = how === "counts" ? undefined : firstProblem(driver);
    if (why !== undefined) return { kind: "damaged", why };
    return { kind: "sound", ...statsOf(driver, original) };
  });
}

/** Checks the whole file. */
export function firstProblem(driver: SqliteDriver): string | undefined {
  const found = one(driver, "PRAGMA quick_check(1)", "quick_check");
  return found === "ok" ? undefined : String(found);
}

function statsOf(driver: SqliteDriver, original: string): DatabaseStats {
  const number = (sql: string, name: string): number => Number(one(driver, sql, name) ?? 0);
  const names = driver
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as readonly { readonly name: string }[];
  return {
    // The upper half holds `readableFrom`.
    format: number("PRAGMA user_version", "user_version") % 2 ** 16,
    fileBytes: sizeOf(original),
    walBytes: sizeOf(`${original}-wal`),
    freeBytes: number("PRAGMA freelist_count", "freelist_count") * number("PRAGMA page_size", "page_size"),
    tables: names.map(({ name }) => ({
      name,
      rows: number(`SELECT count(*) AS rows FROM "${name.replaceAll('"', '""')}"`, "rows"),
    })),
  };
}

function one(driver: SqliteDriver, sql: string, name: string): unknown {
  const row = driver.prepare(sql).get();
  return typeof row === "object" && row !== null ? Object.entries(row).find(([key]) => key === name)?.[1] : undefined;
}

function reading<T>(file: string, read: (driver: SqliteDriver) => T): T {
  const driver = new Sqlite(file, { timeout: 250, readonly: true, fileMustExist: true });
  try {
    return read(driver);
  } finally {
    driver.close();
  }
}

const sizeOf = (file: string): number => presentSize(file) ?? 0;
