import { join } from "node:path";
import { type MirroredObject, mirrored } from "../../../storage/database/inspection.ts";
import { isOfSqlite } from "../../../storage/errors.ts";
import { type KubeObject, placeIn } from "../../api/meta.ts";
import { compareVersions } from "../../api/resource-version.ts";
import {
  boardLeaseNamespace,
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  namespaces,
  nodes,
  pathOf,
  pods,
  type Resource,
  resourceName,
  services,
} from "../../api/resources.ts";
import { type Millis, sleep } from "../../base/clock.ts";
import { asRecord } from "../../base/json.ts";
import { listed } from "../../base/text/listed.ts";
import type { Status } from "../../status/schema.ts";
import type { ApiAnswer, ApiProbe } from "../api-probe.ts";
import { type CheckResult, fail, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** Maximum number of objects compared per kind. */
const maxObjects = 200;
/** Pause before the second comparison, to let the agent receive pending changes. */
const pause: Millis = 5000;
/** Maximum number of objects per kind that are read from the store, the most recently changed first. */
const maxRead = 3;
const metadataOf = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;

const kinds: readonly Resource<KubeObject>[] = [
  nodes,
  pods,
  namespaces,
  leases,
  daemonSets,
  controllerRevisions,
  services,
  endpoints,
  endpointSlices,
];

/**
 * Compares the cache with the API server: names, uids and resourceVersions of the first objects of each kind. Only
 * differences that persist for several seconds are reported. The API server serves lists and watches from a cache of
 * its own, which a restore of its store does not change until the server is restarted. Therefore the newest objects are
 * also read one by one, because such a response comes from the store.
 */
export async function cacheCurrent(patient: Patient): Promise<CheckResult> {
  const { api, status, ambient, signal } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { watches = [] } = status?.isFresh ? status.status : {};
  const obstacle = checkMirror(watches);
  const file = join(config.state.folder, "cache.db");
  try {
    if (obstacle) {
      // If the API server cannot be reached, api.tls reports that, and this check is skipped.
      if (obstacle.level === "warn") await api.ask("GET", "/version");
      return obstacle;
    }
    const first = await compared(api, file);
    if (typeof first === "string") return skip(first);
    if (first.differences.length + first.undone.length === 0) return checkDifferences(first);
    await sleep(ambient.clock, pause, signal);
    const second = await compared(api, file);
    if (typeof second === "string") return skip(second);
    const lasting = (side: "differences" | "undone") => second[side].filter((one) => first[side].includes(one));
    return checkDifferences({
      objects: second.objects,
      differences: lasting("differences"),
      undone: lasting("undone"),
    });
  } catch (error) {
    // The agent may currently be building a new cache.
    if (isOfSqlite(error)) return skip("the cache cannot be read right now");
    return unreached;
  }
}

/** Why the cache cannot be compared; undefined if all watches are live. */
export function checkMirror(
  watches: readonly Pick<NonNullable<Status["watches"]>[number], "resource" | "state">[],
): CheckResult | undefined {
  if (watches.every(({ state }) => state === "off")) return skip("this board is not mirroring the site right now");
  const broken = watches.filter(({ state }) => state === "failing" || state === "silent");
  if (broken.length > 0) {
    const named = broken.slice(0, 3).map(({ resource, state }) => `${resource} ${state}`);
    return warn(
      `${broken.length} of ${watches.length} watches receive nothing (${listed(named, broken.length)}), so the cache is out of date`,
      "siteward status shows why they fail; the agent reopens the watches by itself.",
    );
  }
  return watches.some(({ state }) => state === "syncing") ? skip("the site is being listed") : undefined;
}

export function checkDifferences({ objects, differences, undone }: Compared): CheckResult {
  if (undone.length > 0) {
    return fail(
      `the API server lists objects that are not in its store: ${firstOf(undone)}`,
      "Restart every kube-apiserver after a restore of etcd, or remove a lagging one from the load balancer; until then, its lists and watches show a state that no longer exists.",
    );
  }
  if (differences.length === 0) return ok(`${objects} cached objects match those of the API server`);
  return fail(
    `the cache differs from the API server: ${firstOf(differences)}`,
    "Stop the agent, delete cache.db in its state folder, and start the agent, which then lists everything again.",
  );
}

const firstOf = (findings: readonly string[]): string =>
  `${findings.slice(0, 3).join("; ")}${findings.length > 3 ? `, and ${findings.length - 3} more` : ""}`;

interface Compared {
  readonly objects: number;
  /** Differences between the agent's cache and the API server's lists. */
  readonly differences: readonly string[];
  /** Differences between the API server's lists and its store. */
  readonly undone: readonly string[];
}

async function compared(api: ApiProbe, file: string): Promise<Compared | string> {
  let objects = 0;
  const differences: string[] = [];
  const undone: string[] = [];
  for (const kind of kinds) {
    const name = resourceName(kind);
    const namespace = kind === leases ? boardLeaseNamespace : undefined;
    const path = `${pathOf(kind, { namespace })}?limit=${maxObjects}`;
    const { status, body } = await get(api, path, "PartialObjectMetadataList");
    if (status !== 200 || !Array.isArray(body?.items)) continue;
    const cached = mirrored(file, name, maxObjects);
    if (cached === undefined) continue;
    const served = body.items.flatMap(objectOf);
    const isWhole = (asRecord(body.metadata).continue ?? "") === "";
    objects += served.length;
    differences.push(...differencesOf(name, served, cached, isWhole));
    undone.push(...(await undoneOf(api, kind, served)));
  }
  return objects === 0 ? "nothing could be compared" : { objects, differences, undone };
}

const get = (api: ApiProbe, path: string, kind: string): Promise<ApiAnswer> =>
  api.ask("GET", path, undefined, "application/json", metadataOf(kind));

/**
 * The newest listed objects that are missing from the API server's store, or are stored there only in an older version.
 */
async function undoneOf(
  api: ApiProbe,
  kind: Resource<KubeObject>,
  served: readonly MirroredObject[],
): Promise<readonly string[]> {
  const newest = [...served].sort((a, b) => compareVersions(b.version, a.version)).slice(0, maxRead);
  const found: string[] = [];
  for (const one of newest) {
    const { status, body } = await get(api, pathOf(kind, placeIn(one.key)), "PartialObjectMetadata");
    const [stored] = status === 200 ? objectOf(body) : [];
    const is = storedDifference(one, status === 404 ? "absent" : stored);
    if (is !== undefined) found.push(`${resourceName(kind)} ${one.key} ${is}`);
  }
  return found;
}

/**
 * How the store's object contradicts the listed one; undefined if it does not, or if the store's state is not known.
 */
export function storedDifference(
  listed: MirroredObject,
  stored: MirroredObject | "absent" | undefined,
): string | undefined {
  if (stored === undefined) return undefined;
  if (stored === "absent") return "is not stored";
  return compareVersions(stored.version, listed.version) < 0 ? "is stored in an older version" : undefined;
}

function objectOf(item: unknown): readonly MirroredObject[] {
  const { namespace, name, uid, resourceVersion: version } = asRecord(asRecord(item).metadata);
  if (typeof name !== "string" || typeof uid !== "string" || typeof version !== "string") return [];
  return [{ key: typeof namespace === "string" ? `${namespace}/${name}` : name, uid, version }];
}

/**
 * Compares the first objects of both sides in key order. `isWhole`: the server has no more objects than these. A cached
 * resourceVersion may be older, because heartbeats are not stored; if it is newer, it comes from another history of the
 * server.
 */
export function differencesOf(
  kind: string,
  served: readonly MirroredObject[],
  cached: readonly MirroredObject[],
  isWhole: boolean,
): readonly string[] {
  const last = [served.at(-1)?.key ?? "", cached.length < maxObjects ? undefined : cached.at(-1)?.key]
    .filter((key) => key !== undefined)
    .sort()[0];
  const isCompared = ({ key }: MirroredObject): boolean =>
    (isWhole && cached.length < maxObjects) || key <= (last ?? "");
  const known = new Map(cached.map((one) => [one.key, one]));
  const found: string[] = [];
  for (const one of served.filter(isCompared)) {
    const has = known.get(one.key);
    known.delete(one.key);
    if (has === undefined) found.push(`${kind} ${one.key} is not in the cache`);
    else if (has.uid !== one.uid) found.push(`${kind} ${one.key} has a different uid`);
    else if (compareVersions(has.version, one.version) > 0) found.push(`${kind} ${one.key} is newer than the server's`);
  }
  for (const one of known.values()) if (isCompared(one)) found.push(`${kind} ${one.key} is no longer on the server`);
  return found;
}
