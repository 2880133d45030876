import type { Database } from "../database/database.ts";

/** The names of all resources of which the cache has, or once had, objects. */
export const storedResources = (database: Database): readonly string[] =>
  database
    .prepare<{ name: string }>("SELECT name FROM resources ORDER BY name")
    .all()
    .map(({ name }) => name);

/** The stored proofs of the watch positions of all resources. */
export const storedProofs = (database: Database): readonly string[] =>
  database
    .prepareOnce<{ proof: string }>("SELECT proof FROM resources WHERE proof IS NOT NULL")
    .all()
    .map(({ proof }) => proof);

/**
 * Deletes a resource in one transaction: objects, index rows, journal and position. Existing Indexers and DeltaFIFOs
 * with that name must no longer be used; new ones begin empty.
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
      "DELETE FROM unusable WHERE resource = ?",
      "DELETE FROM resources WHERE id = ?",
    ]) {
      database.prepare(sql).run(id);
    }
  });
}
