import Sqlite from "better-sqlite3";

interface Row {
  readonly resource: string;
  readonly key: string;
  readonly version: string;
}

/** What an agent that was stopped had mirrored: by the plural of the resource, resourceVersions by key. */
export function mirrored(file: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const database = new Sqlite(file, { timeout: 0 });
  try {
    const found = new Map<string, Map<string, string>>();
    const rows = database
      .prepare("SELECT resources.name AS resource, key, version FROM objects JOIN resources ON resources.id = resource")
      .all() as readonly Row[];
    for (const { resource, key, version } of rows) {
      const plural = /^\w+/.exec(resource)?.[0] ?? resource;
      const objects = found.get(plural) ?? new Map<string, string>();
      found.set(plural, objects.set(key, version));
    }
    return found;
  } finally {
    database.close();
  }
}
