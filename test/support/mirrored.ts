import Sqlite from "better-sqlite3";
import type { Server } from "./load.ts";

interface Row {
  readonly resource: string;
  readonly key: string;
  readonly version: string;
}

interface Item {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
}

const collections = [
  ["nodes", "/api/v1/nodes"],
  ["pods", "/api/v1/pods"],
  ["daemonsets", "/apis/apps/v1/daemonsets"],
  ["leases", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"],
] as const;

/** The differences between the cache of a stopped agent and the API server's objects. */
export async function differences(server: Server, file: string): Promise<readonly string[]> {
  const held = mirrored(file);
  const found: string[] = [];
  for (const [name, url] of collections) {
    const { items } = await server.request<{ items: readonly Item[] }>("GET", url);
    const wanted = new Map(items.map((item) => [keyOf(item), item.metadata.resourceVersion]));
    const has = held.get(name) ?? new Map<string, string>();
    for (const [key, version] of wanted) {
      if (has.get(key) !== version) found.push(`${name} ${key}: ${has.get(key) ?? "missing"}, not ${version}`);
    }
    for (const key of has.keys()) if (!wanted.has(key)) found.push(`${name} ${key} is gone`);
  }
  return found;
}

const keyOf = ({ metadata: { namespace, name } }: Item): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

/** For each resource, by plural: resourceVersions by key. */
function mirrored(file: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
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
