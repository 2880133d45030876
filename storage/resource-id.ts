import type { Database } from "./database.ts";

/** The number of a resource in the tables. It is assigned once and never changes. */
export function resourceId(database: Database, name: string): number {
  const select = database.prepare<{ id: number }>("SELECT id FROM resources WHERE name = ?");
  const insert = database.prepare<{ id: number }>("INSERT INTO resources (name) VALUES (?) RETURNING id");
  const row = select.get(name) ?? insert.get(name);
  if (row === undefined) throw database.damaged(new Error(`no number for ${name}`));
  return row.id;
}
