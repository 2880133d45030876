import { isSameJson } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { type ApiObject, Entry, normalized } from "../objects/object.ts";
import { keyOf } from "../objects/object-store.ts";
import { type Deletion, type DeletionWish, deletionOf, isOver, isTerminating } from "../objects/termination.ts";
import type { Site } from "../requests/call.ts";
import type { Sent } from "../requests/document.ts";
import {
  alreadyExists,
  badRequest,
  beingDeleted,
  forbidden,
  invalid,
  modified,
  notFound,
} from "../requests/failure.ts";
import { required } from "../requests/problems.ts";
import { namespacesServed } from "../served.ts";
import type { ServedKind } from "../served-kind.ts";
import { admitChange, admitNew, type WriteContext } from "./admission.ts";

/** Letters of generated names, which do not form words and are not easily confused. */
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789";
const maxGeneratedLength = 63;
/**
 * How many generated names are tried, as on the real server, so that a free one is found unless nearly all are taken.
 */
const nameTries = 8;

/** Stores a new object, unless `dryRun`. */
export function createObject(
  site: Site,
  kind: ServedKind,
  namespace: string | undefined,
  sent: Sent,
  dryRun: boolean,
): Entry {
  const { name, generateName } = sent.metadata;
  if ((sent.metadata.namespace ?? namespace) !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace !== undefined) checkNamespace(site, kind, namespace, String(name ?? generateName ?? ""));
  if (typeof name === "string" && name !== "") {
    const created = tryName(site, kind, namespace, name, sent, dryRun);
    if (created !== undefined) return created;
    const before = site.store.get(kind, namespace, name);
    throw (before !== undefined && isTerminating(before.object) ? beingDeleted : alreadyExists)(kind, name);
  }
  if (typeof generateName !== "string" || generateName === "") {
    throw invalid(kind, "", [required("metadata.name", "name or generateName is required")]);
  }
  for (let tries = 0; tries < nameTries; tries++) {
    const created = tryName(site, kind, namespace, generatedName(site, generateName), sent, dryRun);
    if (created !== undefined) return created;
  }
  throw alreadyExists(kind, generateName);
}

function checkNamespace(site: Site, kind: ServedKind, namespace: string, name: string): void {
  const found = site.store.get(namespacesServed, undefined, namespace);
  if (found === undefined) throw notFound(namespacesServed, namespace);
  if (!isTerminating(found.object)) return;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(kind, name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    { reason: "NamespaceTerminating", message, field: "metadata.namespace" },
  ]);
}

function generatedName({ random }: Site, prefix: string): string {
  const letters = Array.from({ length: 5 }, () => suffixLetters[Math.floor(random.next() * suffixLetters.length)]);
  return prefix.slice(0, maxGeneratedLength - letters.length) + letters.join("");
}

/** Stores a new object under a name. Returns undefined if the name is taken. */
function tryName(
  { clock, random, store }: Site,
  kind: ServedKind,
  namespace: string | undefined,
  name: string,
  sent: Sent,
  dryRun: boolean,
): Entry | undefined {
  const admission = { now: timestamp(clock.now()), revision: store.revision + 1 };
  const object = admitNew(kind, sent, { name, namespace, uid: random.uuid() }, admission);
  if (!dryRun) return store.create(kind, object);
  return store.get(kind, namespace, name) === undefined ? unstored(keyOf(kind, namespace, name), 0, object) : undefined;
}

/** Stores a changed object, unless `dryRun`. An unchanged object is not written. */
export function replaceObject(
  site: Site,
  kind: ServedKind,
  before: Entry,
  sent: Sent,
  change: WriteContext & { readonly dryRun: boolean },
): Entry {
  const object = admitChange(kind, sent, before.object, change);
  return storeChange(site, kind, before, object, change.dryRun);
}

export function storeChange(
  { store }: Site,
  kind: ServedKind,
  before: Entry,
  object: ApiObject,
  dryRun: boolean,
): Entry {
  if (isSameJson(normalized(object, String(before.revision)), before.object)) return before;
  if (dryRun) return unstored(before.key, before.revision, object);
  const written = isOver(kind, object) ? store.remove(before, object) : store.update(before, object);
  if (written === undefined) throw modified(kind, object.metadata.name);
  return written;
}

/** Deletes an object, or starts its deletion, unless `dryRun`. */
export function deleteObject(
  site: Site,
  kind: ServedKind,
  before: Entry,
  wish: DeletionWish,
  dryRun: boolean,
): { readonly does: Deletion["does"]; readonly entry: Entry } {
  const deletion = deletionOf(kind, before.object, wish, site.clock.now());
  if (deletion.does === "nothing") return { does: "nothing", entry: before };
  const { does, object } = deletion;
  if (dryRun) return { does, entry: unstored(before.key, before.revision, object) };
  // As on a real server, watchers first see that the object is being deleted, and then that it no longer exists.
  const marked = isSameJson(object, before.object) ? before : site.store.update(before, object);
  const entry = does === "remove" && marked !== undefined ? site.store.remove(marked, object) : marked;
  if (entry === undefined) throw modified(kind, object.metadata.name);
  return { does, entry };
}

/** The object that would have been stored. */
function unstored(key: string, revision: number, object: ApiObject): Entry {
  const version = revision === 0 ? undefined : String(revision);
  return new Entry(key, revision, JSON.stringify(normalized(object, version)));
}
