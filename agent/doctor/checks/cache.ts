import { join } from "node:path";
import { type MirroredObject, mirrored } from "../../../storage/database/inspection.ts";
import type { KubeObject } from "../../api/meta.ts";
import { compareVersions } from "../../api/resource-version.ts";
import {
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
import type { Status } from "../../status/schema.ts";
import type { ApiProbe } from "../api-probe.ts";
import { configOf, type Patient } from "../patient.ts";
import { type CheckVerdict, fail, ok, skip, unreached, warn } from "../verdict.ts";

/** Maximum number of objects compared per kind. */
const most = 200;
/** Pause before the second comparison, to let the agent receive pending changes. */
const pause: Millis = 5000;
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

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
 * differences that persist for several seconds count.
 */
export async function cacheCurrent(patient: Patient): Promise<CheckVerdict> {
  const { api, status, ambient, signal } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const { watches = [] } = status?.isFresh ? status.status : {};
  const obstacle = mirrorVerdictOf(watches);
  const file = join(config.state.folder, "cache.db");
  try {
    if (obstacle) {
      // If the API server cannot be reached, api.tls reports that, and this check is skipped.
      if (obstacle.level === "warn") await api.ask("GET", "/version");
      return obstacle;
    }
    const first = await compared(api, file);
    if (typeof first === "string") return skip(first);
    if (first.differences.length === 0) return cacheVerdictOf(first.objects, []);
    await sleep(ambient.clock, pause, signal);
    const second = await compared(api, file);
    if (typeof second === "string") return skip(second);
    return cacheVerdictOf(
      second.objects,
      second.differences.filter((one) => first.differences.includes(one)),
    );
  } catch {
    return unreached;
  }
}

/** Why the cache cannot be compared; undefined if all watches are live. */
export function mirrorVerdictOf(
  watches: readonly Pick<NonNullable<Status["watches"]>[number], "resource" | "state">[],
): CheckVerdict | undefined {
  if (watches.every(({ state }) => state === "off")) return skip("this board does not mirror the site at present");
  const broken = watches.filter(({ state }) => state === "failing" || state === "silent");
  if (broken.length > 0) {
    const named = broken.slice(0, 3).map(({ resource, state }) => `${resource} ${state}`);
    const more = broken.length > 3 ? `, and ${broken.length - 3} more` : "";
    return warn(
      `${broken.length} of ${watches.length} watches receive nothing (${named.join(", ")}${more}), so the cache is out of date`,
      "siteward status shows why they fail; the agent opens the watches again by itself.",
    );
  }
  return watches.some(({ state }) => state === "syncing") ? skip("the site is being listed") : undefined;
}

export function cacheVerdictOf(objects: number, differences: readonly string[]): CheckVerdict {
  if (differences.length === 0) return ok(`${objects} objects are cached as the API server has them`);
  const more = differences.length > 3 ? `, and ${differences.length - 3} more` : "";
  return fail(
    `the cache differs from the API server: ${differences.slice(0, 3).join("; ")}${more}`,
    "Stop the agent, delete cache.db in its state folder and start the agent: it lists everything again.",
  );
}

interface Compared {
  readonly objects: number;
  readonly differences: readonly string[];
}

async function compared(api: ApiProbe, file: string): Promise<Compared | string> {
  let objects = 0;
  const differences: string[] = [];
  for (const kind of kinds) {
    const name = resourceName(kind);
    const namespace = kind === leases ? "kube-node-lease" : undefined;
    const path = `${pathOf(kind, { namespace })}?limit=${most}`;
    const { status, body } = await api.ask("GET", path, undefined, "application/json", metadataOnly);
    if (status !== 200 || !Array.isArray(body?.items)) continue;
    const cached = mirrored(file, name, most);
    if (cached === undefined) continue;
    const served = body.items.flatMap(objectOf);
    const isWhole = (asRecord(body.metadata).continue ?? "") === "";
    objects += served.length;
    differences.push(...differencesOf(name, served, cached, isWhole));
  }
  return objects === 0 ? "nothing could be compared" : { objects, differences };
}

function objectOf(item: unknown): readonly MirroredObject[] {
  const { namespace, name, uid, resourceVersion: version } = asRecord(asRecord(item).metadata);
  if (typeof name !== "string" || typeof uid !== "string" || typeof version !== "string") return [];
  return [{ key: typeof namespace === "string" ? `${namespace}/${name}` : name, uid, version }];
}

/**
 * Compares the first objects of both sides in key order. `isWhole`: the server has no further objects. A cached
 * resourceVersion may be older, because heartbeats are not stored; a newer one comes from another history of the
 * server.
 */
export function differencesOf(
  kind: string,
  served: readonly MirroredObject[],
  cached: readonly MirroredObject[],
  isWhole: boolean,
): readonly string[] {
  const last = [served.at(-1)?.key ?? "", cached.length < most ? undefined : cached.at(-1)?.key]
    .filter((key) => key !== undefined)
    .sort()[0];
  const isCompared = ({ key }: MirroredObject): boolean => (isWhole && cached.length < most) || key <= (last ?? "");
  const known = new Map(cached.map((one) => [one.key, one]));
  const found: string[] = [];
  for (const one of served.filter(isCompared)) {
    const has = known.get(one.key);
    known.delete(one.key);
    if (has === undefined) found.push(`${kind} ${one.key} is not in the cache`);
    else if (has.uid !== one.uid) found.push(`${kind} ${one.key} has another uid`);
    else if (compareVersions(has.version, one.version) > 0) found.push(`${kind} ${one.key} is newer than the server's`);
  }
  for (const one of known.values()) if (isCompared(one)) found.push(`${kind} ${one.key} is no longer on the server`);
  return found;
}
