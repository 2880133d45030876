import type { Database } from "./database/database.ts";

/** The number that stands for a resource in all tables. It is assigned at the first call and never changes. */
export function resourceId(database: Database, name: string): number {
  const select = database.prepare<{ id: number }>("SELECT id FROM resources WHERE name = ?");
  const insert = database.prepare<{ id: number }>("INSERT INTO resources (name) VALUES (?) RETURNING id");
  const row = select.get(name) ?? insert.get(name);
  if (row === undefined) throw database.damaged(new Error(`no number for ${name}`));
  return row.id;
}
