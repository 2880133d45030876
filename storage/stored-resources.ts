import type { Database } from "./database.ts";

/** The names under which something is stored, or was. */
export const storedResources = (database: Database): readonly string[] =>
  database
    .prepare<{ name: string }>("SELECT name FROM resources ORDER BY name")
    .all()
    .map(({ name }) => name);

/** What was stored to prove positions, of all resources. */
export const storedProofs = (database: Database): readonly string[] =>
  database
    .fresh<{ proof: string }>("SELECT proof FROM resources WHERE proof IS NOT NULL")
    .all()
    .map(({ proof }) => proof);

/**
 * Takes a resource out of the file: objects, index rows, journal and position, in one transaction. Nobody may use an
 * Indexer or a DeltaFIFO of that name any more; new ones begin empty.
 */
export function forgetResource(database: Database, name: string): void {
  database.transaction(() => {
    const id = database.prepare<{ id: number }>("SELECT id FROM resources WHERE name = ?").get(name)?.id;
    if (id === undefined) return;
    for (const sql of [
      `DELETE FROM index_rows WHERE "index" IN (SELECT id FROM indices WHERE resource = ?)`,
      "DELETE FROM indices WHERE resource = ?",
      "DELETE FROM objects WHERE resource = ?",
      "DELETE FROM journal WHERE resource = ?",
      "DELETE FROM seen WHERE resource = ?",
      "DELETE FROM resources WHERE id = ?",
    ]) {
      database.prepare(sql).run(id);
    }
  });
}
