import Sqlite from "better-sqlite3";
import type { Migration, SqliteDriver } from "./database.ts";

/** The tables and indices of a file, as SQLite recorded them. */
export const shapeOf = (driver: SqliteDriver): readonly string[] =>
  driver
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
    .all()
    .map((row) => JSON.stringify(row));

export const namesIn = (shape: readonly string[]): readonly string[] =>
  shape.map((row) => (JSON.parse(row) as { name: string }).name);

/** The shape of a file after these steps and nothing else. */
export function shapeAfter(migrations: readonly Migration[]): readonly string[] {
  const blank = new Sqlite(":memory:", { timeout: 0 });
  try {
    for (const { sql } of migrations) blank.exec(sql);
    return shapeOf(blank);
  } finally {
    blank.close();
  }
}
