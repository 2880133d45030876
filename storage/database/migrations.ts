import Sqlite from "better-sqlite3";
import { kindOf, type StorageError } from "../errors.ts";
import type { SqliteDriver } from "./statement.ts";

/**
 * One step from one file format to the next. Steps are numbered from 1 without gaps; a file stores the number of its
 * last step (`user_version`), which is its format.
 *
 * A step after which older programs can still use the file may set `readableFrom`, the oldest format of such a program.
 * It must leave the tables of that format as they are: it adds tables, which an older program leaves alone, or deletes
 * rows that the older program can do without. If absent, only programs that know this step can use the file.
 *
 * A file stores the `readableFrom` of its last step only (in the upper half of `user_version`), so the value must never
 * decrease from one step to the next: a lower one would let in a program that an earlier step excluded.
 */
export interface Migration {
  readonly number: number;
  readonly sql: string;
  readonly readableFrom?: number;
}

/** The parts of a Database that a migration needs. */
export interface MigratedDatabase {
  readonly driver: SqliteDriver;
  transaction(work: () => void): void;
  /** The error for a file that is damaged, or newer than this program. */
  readonly error: (kind: "damaged" | "newer", cause: unknown) => StorageError;
}

/** The `application_id` of our SQLite files: "site" in ASCII. */
const applicationId = 0x73697465;

/** `user_version` holds the format in its lower half and `readableFrom` in its upper half. */
const half = 2 ** 16;

/** The highest number of a step, because SQLite stores `user_version` as a signed 32-bit number. */
const maxSteps = 2 ** 15 - 1;

/** Runs the missing steps, each in one transaction that also stores its number. Returns whether there were any. */
export function migrate(database: MigratedDatabase, migrations: readonly Migration[]): boolean {
  checkSteps(migrations);
  const { driver } = database;
  const known = latestOf(migrations);
  const { format: found, readableFrom } = versionOf(driver);
  checkOwner(database, found);
  if (found > known && (readableFrom === 0 || readableFrom > known)) throw tooNew(database, migrations, found);
  for (const { number, sql, readableFrom: oldest = 0 } of migrations) {
    if (number <= found) continue;
    database.transaction(() => {
      // Another process may have taken this step in the meantime.
      if (versionOf(driver).format >= number) return;
      try {
        driver.exec(sql);
      } catch (error) {
        // A full disk, for example, is reported as such.
        if (kindOf(error) !== undefined) throw error;
        // SQLite does not blame the disk, so the step conflicts with tables that this program did not create.
        throw database.error("damaged", new Error(`migration step ${number} failed`, { cause: error }));
      }
      driver.exec(`PRAGMA application_id = ${applicationId}`);
      driver.exec(`PRAGMA user_version = ${oldest * half + number}`);
    });
  }
  return found < known;
}

/** Whether the file has the tables and indices that the migrations create; a newer file may have more. */
export function hasSchema(driver: SqliteDriver, migrations: readonly Migration[]): boolean {
  const [wanted, found] = [schemaAfter(migrations), schemaOf(driver)];
  const isNewer = versionOf(driver).format > latestOf(migrations);
  if (!isNewer && found.length !== wanted.length) return false;
  const sqlOf = new Map(found.map(({ name, sql }) => [name, sql]));
  return wanted.every(({ name, sql }) => sqlOf.get(name) === sql);
}

/** Throws if the steps break the rules of `Migration`, which would be a mistake in this program. */
function checkSteps(migrations: readonly Migration[]): void {
  if (migrations.length > maxSteps) throw new Error(`there are more than ${maxSteps} migration steps`);
  let oldest = 1;
  for (const [index, { number, readableFrom = number }] of migrations.entries()) {
    if (number !== index + 1) throw new Error(`migration step ${index + 1} has the number ${number}`);
    if (readableFrom < oldest || readableFrom > number) {
      throw new Error(
        `migration step ${number} cannot be readable from format ${readableFrom}: not in ${oldest} to ${number}`,
      );
    }
    oldest = readableFrom;
  }
}

/** Throws for a database of another program, which must never be migrated. */
function checkOwner({ driver, error }: MigratedDatabase, version: number): void {
  const id = numberOf(driver, "application_id");
  const isForeign = id !== applicationId && id !== 0;
  if (isForeign || (version === 0 && schemaOf(driver).length > 0)) {
    throw error("damaged", new Error("it belongs to another program"));
  }
}

/**
 * The error for a format that is too new. If it has no table in common with ours, the file is not a newer version of
 * ours.
 */
function tooNew({ driver, error }: MigratedDatabase, migrations: readonly Migration[], found: number): StorageError {
  const known = schemaAfter(migrations).map(({ name }) => name);
  const tables = schemaOf(driver);
  if (tables.length > 0 && !tables.some(({ name }) => known.includes(name))) {
    return error("damaged", new Error("it has none of the expected tables"));
  }
  return error(
    "newer",
    new Error(`it has format ${found}; this version supports formats up to ${latestOf(migrations)}`),
  );
}

const latestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.number ?? 0;

function versionOf(driver: SqliteDriver): { readonly format: number; readonly readableFrom: number } {
  const version = numberOf(driver, "user_version");
  return { format: version % half, readableFrom: Math.floor(version / half) };
}

function numberOf(driver: SqliteDriver, pragma: "application_id" | "user_version"): number {
  const row = driver.prepare(`PRAGMA ${pragma}`).get() as Readonly<Record<string, number>> | undefined;
  return row?.[pragma] ?? 0;
}

/** A table or an index, with its CREATE statement as SQLite stores it. */
interface SchemaEntry {
  readonly name: string;
  readonly sql: string;
}

/** The tables and indices of a file, except those that SQLite creates itself. */
const schemaOf = (driver: SqliteDriver): readonly SchemaEntry[] =>
  driver
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    .all() as readonly SchemaEntry[];

/** The schema of a new file after these steps. */
function schemaAfter(migrations: readonly { readonly sql: string }[]): readonly SchemaEntry[] {
  const blank = new Sqlite(":memory:", { timeout: 0 });
  try {
    for (const { sql } of migrations) blank.exec(sql);
    return schemaOf(blank);
  } finally {
    blank.close();
  }
}
