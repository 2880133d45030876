import { isJsonObject, itemsAt, type JsonValue, textAt, valueAt } from "../../agent/api/json.ts";
import { type Millis, sleep } from "../../agent/base/clock.ts";
import type { Site } from "./call.ts";
import { itemsOf } from "./list.ts";
import type { ApiObject, Entry } from "./object.ts";
import { rangeOf } from "./object-store.ts";
import { foregroundFinalizer, hasFinalizer, orphanFinalizer, withoutFinalizer } from "./propagation.ts";
import { servedKinds } from "./served.ts";
import { apiVersionOf, type ServedKind } from "./served-kind.ts";
import { isTerminating } from "./termination.ts";
import { deleteObject, storeChange } from "./write.ts";

/** So that controllers hear that an owner is to go before anything happens to its dependents, and replace none of them. */
const pause: Millis = 250;

interface Found {
  readonly kind: ServedKind;
  readonly entry: Entry;
}

/** By the uid of an owner: what says that it belongs to it. */
type Dependents = ReadonlyMap<string, readonly Found[]>;

/**
 * Lets owners go that are held for the sake of their dependents: as a garbage collector does, an owner that leaves orphans
 * goes once all of them have forgotten it, one deleted in the foreground once no dependent is left that blocks it.
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

/** Does what can be done for one owner. Returns whether it goes on waiting. */
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

/** Asks for the deletion of the dependents. Returns whether none is there that the owner has to wait for. */
function follow(site: Site, mine: readonly Found[], dependents: Dependents, uid: string): boolean {
  for (const one of mine) letGo(site, one, dependents);
  return !mine.some(({ entry }) =>
    ownersOf(entry.object).some((owner) => uidOf(owner) === uid && valueAt(owner, "blockOwnerDeletion") === true),
  );
}

/** One that has another owner, too, only forgets those that go. */
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
  // Owners that wait for each other in a circle would do so for ever.
  if (own.some(({ entry }) => isInForeground(entry.object))) {
    change(site, dependent, (object) => withOwners(object, (all) => all.map(unblocked)));
  }
  const latest = current(site, dependent);
  const propagation = own.length > 0 ? "Foreground" : undefined;
  if (latest !== undefined) deleteObject(site, dependent.kind, latest, { propagation }, false);
}

/** Whether an owner is there to stay. Of a kind that is not served here nobody can say that it is gone. */
function stands({ store }: Site, owner: JsonValue, namespace: string | undefined): boolean {
  const kind = servedKinds.find(
    (one) => one.kind === textAt(owner, "kind") && apiVersionOf(one) === textAt(owner, "apiVersion"),
  );
  if (kind === undefined) return true;
  const found = store.get(kind, kind.namespaced ? namespace : undefined, textAt(owner, "name"));
  return found !== undefined && found.object.metadata.uid === uidOf(owner) && !isInForeground(found.object);
}

/** An owner in a namespace owns nothing outside of it. */
function dependentsIn(site: Site, namespace: string | undefined): Dependents {
  const dependents = new Map<string, Found[]>();
  for (const found of everything(site, namespace)) {
    // Most objects belong to nobody and need not be parsed to see it.
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

/** In a namespace, or everywhere. */
function* everything({ store }: Site, namespace: string | undefined): Generator<Found, void> {
  for (const kind of servedKinds) {
    if (namespace !== undefined && !kind.namespaced) continue;
    for (const entry of itemsOf(store, rangeOf(kind, namespace), store.revision)) yield { kind, entry };
  }
}

/** As it is now; undefined where it is gone, or another one has its name. */
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
