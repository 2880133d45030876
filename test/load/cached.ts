import path from "node:path";
import SQLite from "better-sqlite3";
import type { AgentProcess } from "../support/agent-process.ts";

/** An object in the agent's cache, read by another process. */
export function cachedText(agent: AgentProcess, resource: string, key: string): string | undefined {
  const database = new SQLite(path.join(agent.dir, "state/cache.db"), { readonly: true, timeout: 5000 });
  try {
    const row = database
      .prepare(
        "SELECT text FROM objects JOIN resources ON resources.id = objects.resource WHERE resources.name = ? AND key = ?",
      )
      .get(resource, key) as { text: string } | undefined;
    return row?.text;
  } finally {
    database.close();
  }
}
