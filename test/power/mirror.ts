import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import type { KubeObject } from "../../agent/api/meta.ts";
import { keyOf } from "../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../../agent/api/resources.ts";
import { kindOf } from "../../agent/informer/kinds/kinds.ts";
import { storedName } from "../../agent/informer/scope.ts";
import { openCache, openState } from "../../storage/database/open.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import { Memo } from "../../storage/memo.ts";
import { pragmas } from "../storage/object-store.ts";
import type { SiteHistory } from "./site-history.ts";

/** The cached resources, with their keys on the server. */
const mirrored: readonly { readonly resource: Resource<KubeObject>; readonly prefix: string }[] = [
  { resource: nodes, prefix: "nodes/" },
  { resource: pods, prefix: "pods/" },
  { resource: leases, prefix: "leases/kube-node-lease/" },
];

/** One resource on disk, after the journal was processed. */
export interface Mirrored {
  readonly name: string;
  readonly position: number | undefined;
  readonly objects: ReadonlyMap<string, KubeObject>;
}

export interface Folder {
  readonly resources: readonly Mirrored[];
  readonly facts: ReadonlyMap<string, string>;
  /** Problems of the files themselves. */
  readonly problems: readonly string[];
}

/** The state folder of an agent as it is right now, opened with the product's own code on a temporary copy. */
export function readFolder(folder: string, scratch: string): Folder {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  for (const name of ["cache.db", "cache.db-wal", "state.db", "state.db-wal"]) {
    const file = path.join(folder, name);
    if (existsSync(file)) copyFileSync(file, path.join(scratch, name));
  }
  const problems: string[] = [];
  const cache = openCache({ file: path.join(scratch, "cache.db"), pragmas });
  if (cache.rebuilt) problems.push(`cache.db was discarded: ${cache.rebuilt.message}`);
  const state = openState({ file: path.join(scratch, "state.db"), pragmas, stamp: "cut" });
  if (state.setAside) problems.push(`state.db was set aside: ${state.setAside.why.message}`);
  try {
    const check = cache.database.prepare<{ integrity_check: string }>("PRAGMA integrity_check(3)").all();
    problems.push(...check.flatMap(({ integrity_check: text }) => (text === "ok" ? [] : [`cache.db: ${text}`])));
    const resources = mirrored.map(({ resource }): Mirrored => {
      const name = storedName(resource, {});
      const shared = { database: cache.database, resource: name };
      const indexer = new Indexer({ ...shared, indices: kindOf(resource).indices, decodedBytes: 0 });
      const fifo = new DeltaFIFO({ ...shared, indexer, deltasPerObject: 16 });
      while (fifo.depth > 0) fifo.pop(64);
      const position = fifo.resourceVersion === undefined ? undefined : Number(fifo.resourceVersion);
      return { name, position, objects: byKey(indexer.list()) };
    });
    const memo = new Memo(state.database);
    const facts = new Map(["leader", "memory/taint-eviction"].flatMap((area) => [...memo.entries(area)]));
    return { resources, facts, problems };
  } finally {
    cache.database.closeWithoutCheckpoint();
    state.database.closeWithoutCheckpoint();
  }
}

/** After a cut a cache must equal the server's state at its position, to the last heartbeat. */
export function differencesAtPosition({ resources }: Folder, history: SiteHistory): readonly string[] {
  return resources.flatMap(({ name, position, objects }) => {
    if (position === undefined) return objects.size === 0 ? [] : [`${name}: ${objects.size} objects and no position`];
    if (position > history.revision) return [`${name}: position ${position} is in the server's future`];
    return differences(name, objects, expected(name, history, position), () => false);
  });
}

/** A cache that has caught up equals the server's state; heartbeats may still be in the agent's memory. */
export function differencesNow({ resources }: Folder, history: SiteHistory): readonly string[] {
  return resources.flatMap(({ name, objects }) => {
    const kind = kindOf(resourceOf(name).resource);
    const isQuiet = (stored: KubeObject, now: KubeObject): boolean => kind.isQuiet?.(stored, now) ?? false;
    return differences(name, objects, expected(name, history, history.revision), isQuiet);
  });
}

function differences(
  name: string,
  stored: ReadonlyMap<string, KubeObject>,
  wanted: ReadonlyMap<string, KubeObject>,
  forgiven: (stored: KubeObject, wanted: KubeObject) => boolean,
): readonly string[] {
  const found: string[] = [];
  for (const [key, object] of wanted) {
    const ours = stored.get(key);
    if (ours === undefined) found.push(`${name} ${key}: lost`);
    else if (ours.metadata.uid !== object.metadata.uid || !(isSame(ours, object) || forgiven(ours, object))) {
      found.push(`${name} ${key}: stale, ${versionOf(ours)} where the server has ${versionOf(object)}`);
    }
  }
  for (const key of stored.keys()) if (!wanted.has(key)) found.push(`${name} ${key}: invented, or deleted long ago`);
  return found;
}

function expected(name: string, history: SiteHistory, revision: number): ReadonlyMap<string, KubeObject> {
  const { resource, prefix } = resourceOf(name);
  const { trim } = kindOf(resource);
  // The server's own text, so an object that it serves.
  return byKey([...history.at(prefix, revision)].map((object) => trim(object as KubeObject)));
}

function resourceOf(name: string): (typeof mirrored)[number] {
  const found = mirrored.find(({ resource }) => resourceName(resource) === name);
  if (found === undefined) throw new Error(`${name} is not mirrored`);
  return found;
}

const byKey = (objects: Iterable<KubeObject>): ReadonlyMap<string, KubeObject> =>
  new Map([...objects].map((object) => [keyOf(object), object]));

const versionOf = ({ metadata }: KubeObject): string => `${metadata.uid.slice(0, 8)}@${metadata.resourceVersion}`;

const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

/** Ignores the order of names. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
