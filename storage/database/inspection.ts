import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { type DecisionRange, type DecisionText, newestDecisions, textsOf } from "../decision-log.ts";
import { kindOf } from "../errors.ts";
import { firstProblem } from "./error-translator.ts";
import type { SqliteDriver } from "./statement.ts";

/** The result of inspecting a database from another process, without changing it. */
export type Inspection =
  | { readonly kind: "absent" }
  /** A running agent holds the exclusive lock on the file. */
  | { readonly kind: "busy" }
  | ({ readonly kind: "sound" } & DatabaseStats)
  | { readonly kind: "damaged" | "unreadable"; readonly why: string };

export interface DatabaseStats {
  /** The number of the last migration applied to the file. */
  readonly format: number;
  readonly fileBytes: number;
  /** Size of the write-ahead log; 0 if the agent stopped cleanly, or after a checkpoint. */
  readonly walBytes: number;
  /** Size of the free pages in the file. */
  readonly freeBytes: number;
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
}

/**
 * The largest file that is copied, in bytes. Copying a larger one would wear out the card, or fill the memory if /tmp
 * is in memory.
 */
const maxCopy = 256 * 2 ** 20;

/**
 * Inspects a file that an agent may be using. If one is running, the file is read in place; otherwise a copy is read,
 * because opening a file that no process has open leaves a log and a shared-memory file behind. `counts`: skips the
 * check of the whole file, which takes seconds if the file is large.
 */
export function inspect(file: string, isInUse: boolean, how: "whole" | "counts" = "whole"): Inspection {
  try {
    if (presentSize(file) === undefined) return { kind: "absent" };
    return withFile(file, isInUse, (at) => inspected(at, file, how));
  } catch (error) {
    return faultOf(error);
  }
}

/** The size of a file in bytes; undefined if it does not exist. Throws if it cannot be read. */
export const presentSize = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size;

/** The result of an inspection that fails with this error. */
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

/** One row of the journal: a delta that was received but not yet applied. */
export interface JournalTail {
  readonly seq: number;
  readonly resource: string;
  readonly type: string;
  readonly key: string;
  readonly version: string;
}

/** A cached object with its resourceVersion. */
export interface MirroredObject {
  readonly key: string;
  readonly uid: string;
  readonly version: string;
}

/**
 * The first `most` objects of a resource, in key order, in a cache.db that an agent has open; undefined if the cache
 * does not have the resource. Throws if the file cannot be read.
 */
export function mirrored(file: string, resource: string, most: number): readonly MirroredObject[] | undefined {
  return reading(file, (driver) => {
    const found = driver.prepare("SELECT id FROM resources WHERE name = ? AND populated = 1").all(resource);
    if (found.length === 0) return undefined;
    const select = `SELECT key, uid, version FROM objects
      WHERE resource = (SELECT id FROM resources WHERE name = ?) ORDER BY key LIMIT ?`;
    return driver.prepare(select).all(resource, most) as readonly MirroredObject[];
  });
}

/**
 * An object of a resource, as JSON, in a cache.db that an agent has open; undefined if the cache does not have the
 * resource. Throws if the file cannot be read.
 */
export function mirroredText(file: string, resource: string, key: string): string | "absent" | undefined {
  return reading(file, (driver) => {
    const [found] = driver.prepare("SELECT id FROM resources WHERE name = ? AND populated = 1").all(resource) as {
      readonly id: number;
    }[];
    if (found === undefined) return undefined;
    const select = "SELECT text FROM objects WHERE resource = ? AND key = ?";
    const [row] = driver.prepare(select).all(found.id, key) as { readonly text: string }[];
    return row?.text ?? "absent";
  });
}

/** The newest `most` rows of the journal of cache.db, newest last, or the reason why they cannot be read. */
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

/**
 * The newest decisions in a state.db that no agent has open, as JSON, oldest first, or the reason why they cannot be
 * read.
 */
export function storedDecisions(
  file: string,
  subject: string | undefined,
  most: number,
  range: DecisionRange,
): readonly string[] | Exclude<Inspection, { readonly kind: "sound" }> {
  const { sql, values } = newestDecisions(subject, most, range);
  try {
    if (presentSize(file) === undefined) return { kind: "absent" };
    return withFile(file, false, (at) =>
      reading(at, (driver) => {
        // An older version may have written the file.
        const isThere = one(driver, "SELECT count(*) AS n FROM sqlite_schema WHERE name = 'decisions'", "n") === 1;
        return isThere ? textsOf(driver.prepare(sql).all(...values) as readonly DecisionText[]) : [];
      }),
    );
  } catch (error) {
    return faultOf(error);
  }
}

function inspected(file: string, original: string, how: "whole" | "counts"): Inspection {
  return reading(file, (driver): Inspection => {
    const why = how === "counts" ? undefined : firstProblem(driver);
    if (why !== undefined) return { kind: "damaged", why };
    return { kind: "sound", ...statsOf(driver, original) };
  });
}

function statsOf(driver: SqliteDriver, original: string): DatabaseStats {
  const number = (sql: string, name: string): number => Number(one(driver, sql, name) ?? 0);
  const names = driver
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as readonly { readonly name: string }[];
  return {
    // The upper half of the number holds `readableFrom`.
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

function withFile<T>(file: string, isInUse: boolean, read: (at: string) => T): T {
  if (isInUse) return read(file);
  if (sizeOf(file) + sizeOf(`${file}-wal`) > maxCopy)
    throw new Error("it is too large to be copied for the check; a running agent checks it itself");
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-inspect-"));
  try {
    const copy = path.join(folder, path.basename(file));
    copyFileSync(file, copy);
    if (presentSize(`${file}-wal`) !== undefined) copyFileSync(`${file}-wal`, `${copy}-wal`);
    return read(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
