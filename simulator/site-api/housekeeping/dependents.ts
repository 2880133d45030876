import { isJsonObject, itemsAt, type JsonValue, textAt, valueAt } from "../../../agent/api/json.ts";
import { type Millis, sleep } from "../../../agent/base/clock.ts";
import type { ApiObject, Entry } from "../objects/object.ts";
import { rangeOf } from "../objects/object-store.ts";
import { foregroundFinalizer, hasFinalizer, orphanFinalizer, withoutFinalizer } from "../objects/propagation.ts";
import { isTerminating } from "../objects/termination.ts";
import type { Site } from "../requests/call.ts";
import { servedKinds } from "../served.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { itemsOf } from "../verbs/list.ts";
import { deleteObject, storeChange } from "../verbs/write.ts";

/**
 * Controllers must see that an owner is being deleted before its dependents change, so that they do not replace them.
 */
const pause: Millis = 250;

interface Found {
  readonly kind: ServedKind;
  readonly entry: Entry;
}

/** The dependents of each owner, by the owner's uid. */
type Dependents = ReadonlyMap<string, readonly Found[]>;

/**
 * Deletes owners that wait for their dependents, as a garbage collector does: an owner that orphans its dependents is
 * deleted once all of them have dropped their reference, and one deleted in the foreground once no blocking dependent
 * is left.
 */
export async function settleDependents(site: Site, signal: AbortSignal): Promise<void> {
  const waiting = new Map<string, Found>();
  let seen: number | undefined;
  while (!signal.aborted) {
    for (const [key, owner] of waiting) if (!settle(site, owner)) waiting.delete(key);
    for (const found of changedSince(site, seen)) if (waits(found.entry.object)) waiting.set(found.entry.key, found);
    seen = site.tail.revision;
    await (waiting.size > 0 ? sleep(site.clock, pause, signal) : nextChange(site, signal));
  }
}

const isLeavingOrphans = (object: ApiObject): boolean => isTerminating(object) && hasFinalizer(object, orphanFinalizer);

const isInForeground = (object: ApiObject): boolean =>
  isTerminating(object) && hasFinalizer(object, foregroundFinalizer);

const waits = (object: ApiObject): boolean => isLeavingOrphans(object) || isInForeground(object);

/** Processes one owner. Returns whether it must still wait. */
function settle(site: Site, owner: Found): boolean {
  const now = current(site, owner);
  if (now === undefined || !waits(now.object)) return false;
  const { uid } = now.object.metadata;
  const dependents = dependentsIn(site, namespaceOf(now));
  const mine = dependents.get(uid) ?? [];
  const isFree = isLeavingOrphans(now.object) ? orphan(site, mine, uid) : follow(site, mine, dependents, uid);
  const finalizer = isLeavingOrphans(now.object) ? orphanFinalizer : foregroundFinalizer;
  if (isFree) change(site, owner, (object) => withoutFinalizer(object, finalizer));
  return current(site, owner) !== undefined;
}

function orphan(site: Site, mine: readonly Found[], uid: string): true {
  for (const one of mine) change(site, one, (object) => withOwners(object, (owners) => without(owners, [uid])));
  return true;
}

/** Requests the deletion of the dependents. Returns true if the owner need not wait for any of them. */
function follow(site: Site, mine: readonly Found[], dependents: Dependents, uid: string): boolean {
  for (const one of mine) letGo(site, one, dependents);
  return !mine.some(({ entry }) =>
    ownersOf(entry.object).some((owner) => uidOf(owner) === uid && valueAt(owner, "blockOwnerDeletion") === true),
  );
}

/** Deletes a dependent. If it has another owner, it only loses its references to those being deleted. */
function letGo(site: Site, dependent: Found, dependents: Dependents): void {
  const now = current(site, dependent);
  if (now === undefined || isTerminating(now.object)) return;
  const owners = ownersOf(now.object);
  const leaving = owners.filter((owner) => !stands(site, owner, namespaceOf(now)));
  if (leaving.length < owners.length) {
    change(site, dependent, (object) => withOwners(object, (all) => without(all, leaving.map(uidOf))));
    return;
  }
  const own = dependents.get(now.object.metadata.uid) ?? [];
  // Owners that wait for each other in a cycle would wait for ever otherwise.
  if (own.some(({ entry }) => isInForeground(entry.object))) {
    change(site, dependent, (object) => withOwners(object, (all) => all.map(unblocked)));
  }
  const latest = current(site, dependent);
  const propagation = own.length > 0 ? "Foreground" : undefined;
  if (latest !== undefined) deleteObject(site, dependent.kind, latest, { propagation }, false);
}

/** Whether an owner exists and is not being deleted. An owner of a kind that is not served here counts as existing. */
function stands({ store }: Site, owner: JsonValue, namespace: string | undefined): boolean {
  const kind = servedKinds.find(
    (one) => one.kind === textAt(owner, "kind") && apiVersionOf(one) === textAt(owner, "apiVersion"),
  );
  if (kind === undefined) return true;
  const found = store.get(kind, kind.namespaced ? namespace : undefined, textAt(owner, "name"));
  return found !== undefined && found.object.metadata.uid === uidOf(owner) && !isInForeground(found.object);
}

/** All dependents that an owner may have. An owner in a namespace owns nothing outside it. */
function dependentsIn(site: Site, namespace: string | undefined): Dependents {
  const dependents = new Map<string, Found[]>();
  for (const found of everything(site, namespace)) {
    // Most objects have no owner, so parsing them is skipped.
    if (!found.entry.text.includes('"ownerReferences"')) continue;
    for (const uid of new Set(ownersOf(found.entry.object).map(uidOf))) {
      dependents.set(uid, [...(dependents.get(uid) ?? []), found]);
    }
  }
  return dependents;
}

function* changedSince(site: Site, revision: number | undefined): Generator<Found, void> {
  const changes = revision === undefined ? undefined : site.tail.after(revision);
  if (changes === undefined) {
    yield* everything(site, undefined);
    return;
  }
  for (const { after, deleted } of changes) {
    const kind = servedKinds.find(({ plural }) => after.key.startsWith(`${plural}/`));
    if (kind !== undefined && !deleted) yield { kind, entry: after };
  }
}

/** All objects in a namespace, or without `namespace` all objects everywhere. */
function* everything({ store }: Site, namespace: string | undefined): Generator<Found, void> {
  for (const kind of servedKinds) {
    if (namespace !== undefined && !kind.namespaced) continue;
    for (const entry of itemsOf(store, rangeOf(kind, namespace), store.revision)) yield { kind, entry };
  }
}

/** The current state of a dependent; undefined if it is deleted, or its name belongs to another object. */
function current({ store }: Site, { kind, entry }: Found): Entry | undefined {
  const { name, uid } = entry.object.metadata;
  const now = store.get(kind, namespaceOf(entry), name);
  return now?.object.metadata.uid === uid ? now : undefined;
}

function change(site: Site, found: Found, changed: (object: ApiObject) => ApiObject): void {
  const now = current(site, found);
  if (now !== undefined) storeChange(site, found.kind, now, changed(now.object), false);
}

const namespaceOf = ({ object }: Entry): string | undefined => textAt(object, "metadata", "namespace") || undefined;

const ownersOf = ({ metadata }: ApiObject): readonly JsonValue[] => itemsAt(metadata, "ownerReferences");

const uidOf = (owner: JsonValue): string => textAt(owner, "uid");

const without = (owners: readonly JsonValue[], uids: readonly string[]): readonly JsonValue[] =>
  owners.filter((owner) => !uids.includes(uidOf(owner)));

const unblocked = (owner: JsonValue): JsonValue =>
  isJsonObject(owner) ? { ...owner, blockOwnerDeletion: false } : owner;

const withOwners = (object: ApiObject, change: (owners: readonly JsonValue[]) => readonly JsonValue[]): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ownerReferences: change(ownersOf(object)) },
});

function nextChange({ tail }: Site, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      for (const stop of listening) stop();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const listening = servedKinds.map(({ plural }) => tail.onChange(plural, done));
    signal.addEventListener("abort", done, { once: true });
  });
}
