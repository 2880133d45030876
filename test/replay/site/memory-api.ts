import { isJsonObject, isSameJson, type JsonObject, numberAt } from "../../../agent/api/json.ts";
import { type KubeObject, keyOf, type NewObject } from "../../../agent/api/meta.ts";
import { parseObject } from "../../../agent/api/parse.ts";
import { pods, type Resource, resourceName } from "../../../agent/api/resources.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import type { Clock, Instant } from "../../../agent/base/clock.ts";
import { ApiError, type Verb } from "../../../agent/client/api-error.ts";
import type { Writer } from "../../../agent/execution/executor.ts";
import { kindOf } from "../../../agent/informer/kinds/kinds.ts";
import type { Lister } from "../../../agent/informer/lister.ts";
import type { WatchHealth } from "../../../agent/informer/watch-health.ts";
import type { ObjectChange } from "../../../agent/loop/controller.ts";
import type { ApiReader, Cache, Caches } from "../../../agent/loop/site-view.ts";
import { mergeSchemaOf } from "../../../simulator/patches/merge-keys.ts";
import { mergedObject } from "../../../simulator/patches/merge-patch.ts";
import { applyStrategicMerge } from "../../../simulator/patches/strategic-merge.ts";
import { listerOf } from "../../support/lister.ts";
import { MalformedCase } from "../malformed.ts";
import { meets, refusal, withoutKind } from "./answers.ts";
import type { SiteLink } from "./site-link.ts";

/** A write request and its outcome. */
export interface Write {
  readonly verb: "create" | "patch" | "delete" | "evict" | "bind";
  readonly resource: Resource<KubeObject>;
  readonly key: string;
  readonly subresource: "status" | undefined;
  /** As it was sent, with its preconditions. */
  readonly body: object;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** "Conflict", "NotFound": why it failed. */
  readonly refused: string | undefined;
}

export interface MemoryApiDeps {
  /** Returns why a write is to fail: "Conflict", "InternalError". */
  refuse(write: {
    readonly verb: Write["verb"];
    readonly resource: Resource<KubeObject>;
    readonly key: string;
    readonly subresource?: string;
    readonly body: object;
  }): string | undefined;
  wrote(write: Write): void;
  /** One object was read past the caches. */
  asked?(read: { readonly resource: Resource<KubeObject>; readonly key: string }): void;
  /** The link to the server; undefined: it never fails, except by `cut`. */
  readonly link?: SiteLink;
}

interface Table {
  readonly resource: Resource<KubeObject>;
  readonly objects: Map<string, KubeObject>;
  readonly listeners: Set<(changes: readonly ObjectChange<KubeObject>[]) => void>;
  /** The objects as the caches show them. */
  readonly cached: Map<string, KubeObject>;
  /** Keys of objects that the API has but the caches do not show. */
  readonly unseen: Set<string>;
  /** Keys of objects whose changes are still on their way to the caches. */
  readonly pending: Set<string>;
  /** The version up to which the caches have received everything. */
  position: string;
}

/**
 * An API server made of a few maps, with watches that deliver at once unless the link fails. Patches, preconditions and the
 * status subresource work as on a real one; caches trim objects and do not report heartbeats, as the informers do.
 */
export class MemoryApi implements Writer, ApiReader, Caches {
  readonly #clock: Clock;
  readonly #deps: MemoryApiDeps;
  readonly #tables = new Map<string, Table>();
  /** Keys of objects whose reads are not answered. */
  readonly unanswered = new Set<string>();
  #version = 0;
  #notLiveSince: Instant | undefined;
  #restoredAt: Instant | undefined;
  /** Names generated for objects without one. */
  #names = 0;

  constructor({ clock }: { readonly clock: Clock }, deps: MemoryApiDeps) {
    this.#clock = clock;
    this.#deps = deps;
  }

  // What happens to the site without us.

  find<T extends KubeObject>(resource: Resource<T>, key: string): T | undefined {
    // A table holds only objects of its own resource.
    return this.#table(resource).objects.get(key) as T | undefined;
  }

  all<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    const { objects } = this.#table(resource);
    return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object as T);
  }

  /** Creates or replaces an object. Adds a missing uid; an unchanged object keeps its version. */
  put(resource: Resource<KubeObject>, object: object): KubeObject {
    const fresh: unknown = structuredClone(object);
    const { metadata } = isJsonObject(fresh) ? fresh : {};
    if (!isJsonObject(fresh) || !isJsonObject(metadata))
      throw new MalformedCase([`a ${resource.kind} has no metadata`]);
    const namespace = resource.namespaced ? { namespace: metadata.namespace ?? "default" } : {};
    const key = `${resource.namespaced ? `${namespace.namespace}/` : ""}${metadata.name}`;
    const before = this.#table(resource).objects.get(key);
    const uid = metadata.uid ?? before?.metadata.uid ?? `${resource.plural}-${key}-${this.#version + 1}`;
    return this.#store(resource, before, { ...fresh, metadata: { ...namespace, ...metadata, uid } });
  }

  /** Takes over an object with its uid and version. */
  adopt(resource: Resource<KubeObject>, object: KubeObject): void {
    this.#version = Math.max(this.#version, Number(object.metadata.resourceVersion));
    this.#table(resource).objects.set(keyOf(object), object);
    this.#changed(resource, keyOf(object));
  }

  remove(resource: Resource<KubeObject>, key: string): KubeObject | undefined {
    const { objects } = this.#table(resource);
    const before = objects.get(key);
    if (before === undefined) return undefined;
    objects.delete(key);
    this.#changed(resource, key);
    return before;
  }

  /** Hides an existing object from the caches, or shows it again. */
  show(resource: Resource<KubeObject>, key: string, isSeen: boolean): void {
    const { objects, unseen } = this.#table(resource);
    if (!objects.has(key) || unseen.has(key) !== isSeen) return;
    if (isSeen) unseen.delete(key);
    else unseen.add(key);
    this.#show(this.#table(resource), key);
  }

  /** The watches deliver what is on its way. */
  deliver(): void {
    for (const table of this.#tables.values()) {
      if (this.#deps.link?.brings(table.resource) === false) continue;
      table.position = String(this.#version);
      const keys = [...table.pending];
      table.pending.clear();
      if (keys.length > 0) this.#deps.link?.received(table.resource);
      for (const key of keys) this.#show(table, key);
    }
  }

  /** Breaks the watches and answers nothing, or restores both. */
  cut(isCut: boolean): void {
    if (isCut) this.#notLiveSince ??= this.#clock.now();
    else if (this.#notLiveSince !== undefined) {
      this.#notLiveSince = undefined;
      this.#restoredAt = this.#clock.now();
    }
  }

  // What the agent asks.

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const table = this.#table(resource);
    const now = this.#clock.now();
    const health: WatchHealth = this.#deps.link?.healthOf(resource) ?? {
      connected: this.#notLiveSince === undefined,
      lastReceived: this.#notLiveSince ?? now,
      lastProof: this.#notLiveSince ?? now,
      restoredAt: this.#restoredAt,
      notLiveSince: this.#notLiveSince,
    };
    return {
      lister: this.#lister(resource),
      health,
      position: table.position,
      onChange: (listen) => {
        // Its changes concern objects of this resource.
        const entry = listen as (changes: readonly ObjectChange<KubeObject>[]) => void;
        table.listeners.add(entry);
        return () => void table.listeners.delete(entry);
      },
    };
  }

  async get<T extends KubeObject>(resource: Resource<T>, at: { namespace?: string; name: string }): Promise<T> {
    const key = keyOf({ metadata: at });
    this.#deps.asked?.({ resource, key });
    const isCut = this.#notLiveSince !== undefined || this.#deps.link?.answers === false;
    if (isCut || this.unanswered.has(key)) throw refusal("get", key, "Timeout");
    return this.#found(resource, at, "get");
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
  ): Promise<T> {
    const { generateName = "", name = `${generateName}${++this.#names}` } = object.metadata;
    const at = namespace === undefined ? { name } : { name, namespace };
    const key = keyOf({ metadata: at });
    const creationTimestamp = timestamp(this.#clock.now());
    const tell = (after: KubeObject | undefined, refused: string | undefined): void =>
      this.#deps.wrote({
        verb: "create",
        resource,
        key,
        subresource: undefined,
        body: object,
        before: undefined,
        after,
        refused,
      });
    const refused =
      this.#deps.refuse({ verb: "create", resource, key, body: object }) ??
      (this.find(resource, key) === undefined ? undefined : "AlreadyExists");
    if (refused !== undefined) {
      tell(undefined, refused);
      throw refusal("create", key, refused);
    }
    const metadata = { ...object.metadata, ...at, creationTimestamp, generation: 1 };
    const created = this.put(resource, { ...object, metadata });
    tell(created, undefined);
    // Objects stored under a resource are of its type.
    return created as T;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string; subresource?: "status" },
    type: "merge" | "strategic" | "json",
    patch: object,
  ): Promise<T> {
    const body: unknown = patch;
    if (!isJsonObject(body)) throw new Error("a patch of an object is an object");
    return this.#write("patch", resource, at, body, (before) => {
      const from: unknown = before;
      const target: JsonObject = isJsonObject(from) ? from : {};
      const merged =
        type === "merge" ? mergedObject(target, body) : applyStrategicMerge(target, body, mergeSchemaOf(resource.kind));
      const { status } = at.subresource === "status" ? merged : target;
      const rest = at.subresource === "status" ? target : merged;
      return this.#store(resource, before, counted(target, status === undefined ? rest : { ...rest, status }));
    }) as Promise<T>;
  }

  async delete(
    resource: Resource<KubeObject>,
    at: { namespace?: string; name: string },
    options: { uid?: string; resourceVersion?: string; gracePeriodSeconds?: number },
  ): Promise<void> {
    await this.#write("delete", resource, at, { metadata: { ...options } }, (before) => {
      this.remove(resource, keyOf(before));
      return undefined;
    });
  }

  async evict(at: { namespace: string; name: string }): Promise<void> {
    throw new Error(`cases know of nothing that evicts ${at.namespace}/${at.name}`);
  }

  async bind(at: { namespace: string; name: string }, { uid, board }: { uid?: string; board: string }): Promise<void> {
    await this.#write("bind", pods, at, { metadata: uid === undefined ? {} : { uid } }, (before) => {
      const pod: unknown = before;
      const { spec } = isJsonObject(pod) ? pod : {};
      return this.put(pods, { ...before, spec: { ...(isJsonObject(spec) ? spec : {}), nodeName: board } });
    });
  }

  async #write(
    verb: Write["verb"],
    resource: Resource<KubeObject>,
    at: { namespace?: string; name: string; subresource?: "status" },
    body: JsonObject,
    perform: (before: KubeObject) => KubeObject | undefined,
  ): Promise<KubeObject | undefined> {
    const key = keyOf({ metadata: at });
    const { subresource } = at;
    const before = this.find(resource, key);
    const tell = (after: KubeObject | undefined, refused: string | undefined): void =>
      this.#deps.wrote({ verb, resource, key, subresource, body, before, after, refused });
    try {
      if (this.#deps.link?.answers === false) throw refusal(verb, key, "Timeout");
      const refused = this.#deps.refuse({ verb, resource, key, body, ...(subresource && { subresource }) });
      if (refused === "Conflict") this.#overtake(resource, before);
      if (refused !== undefined) throw refusal(verb, key, refused);
      const found = this.#found(resource, at, verb);
      if (!meets(found, body)) throw refusal(verb, key, "Conflict");
      const after = perform(found);
      tell(after, undefined);
      return after;
    } catch (error) {
      if (error instanceof ApiError) tell(undefined, error.reason);
      throw error;
    }
  }

  /** Another writer was faster, and changed a member that is not read here. */
  #overtake(resource: Resource<KubeObject>, before: KubeObject | undefined): void {
    if (before === undefined) return;
    const annotations = { ...before.metadata.annotations, "replay/overtaken-at": before.metadata.resourceVersion };
    this.put(resource, { ...before, metadata: { ...before.metadata, annotations } });
  }

  #found<T extends KubeObject>(resource: Resource<T>, at: { namespace?: string; name: string }, verb: Verb): T {
    const key = keyOf({ metadata: at });
    const found = this.find(resource, key);
    if (found === undefined) throw refusal(verb, key, "NotFound");
    return found;
  }

  #store(resource: Resource<KubeObject>, before: KubeObject | undefined, object: JsonObject): KubeObject {
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    const old: unknown = before;
    const version = before?.metadata.resourceVersion ?? "";
    const same = { ...object, metadata: { ...metadata, resourceVersion: version } };
    if (before !== undefined && isJsonObject(old) && isSameJson(withoutKind(same), withoutKind(old))) return before;
    const newer = { ...object, metadata: { ...metadata, resourceVersion: String(++this.#version) } };
    const parsed = parseObject(newer, resource);
    if (!parsed.ok) throw new MalformedCase([parsed.why]);
    const after = parsed.object;
    this.#table(resource).objects.set(keyOf(after), after);
    this.#changed(resource, keyOf(after));
    return after;
  }

  #changed(resource: Resource<KubeObject>, key: string): void {
    this.#table(resource).pending.add(key);
    if (this.#deps.link?.delivers !== false) this.deliver();
  }

  /** Brings the cached object up to the server's, and reports the change. */
  #show({ resource, objects, cached, unseen, listeners }: Table, key: string): void {
    const { trim, isQuiet } = kindOf(resource);
    const [before, found] = [cached.get(key), objects.get(key)];
    if (found === undefined) unseen.delete(key);
    const after = found && !unseen.has(key) ? trim(found) : undefined;
    if (after) cached.set(key, after);
    else cached.delete(key);
    if ((before ?? after) === undefined || (before && after && isQuiet?.(before, after))) return;
    for (const listen of listeners) listen([{ key, before, after }]);
  }

  #lister<T extends KubeObject>(resource: Resource<T>): Lister<T> {
    const { cached } = this.#table(resource);
    // A table holds only objects of its own resource.
    const all = () => [...cached].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object as T);
    return listerOf(resource, all, (key) => cached.get(key) as T | undefined);
  }

  #table(resource: Resource<KubeObject>): Table {
    const name = resourceName(resource);
    const found = this.#tables.get(name);
    if (found) return found;
    const table: Table = {
      resource,
      objects: new Map(),
      listeners: new Set(),
      cached: new Map(),
      unseen: new Set(),
      pending: new Set(),
      position: String(this.#version),
    };
    this.#tables.set(name, table);
    return table;
  }
}

/** For objects that have a generation, a change outside metadata and status increments it. */
function counted(before: JsonObject, after: JsonObject): JsonObject {
  const wish = ({ metadata: _metadata, status: _status, ...rest }: JsonObject): JsonObject => rest;
  const generation = numberAt(before, "metadata", "generation");
  if (generation === undefined || !isJsonObject(after.metadata) || isSameJson(wish(before), wish(after))) return after;
  return { ...after, metadata: { ...after.metadata, generation: generation + 1 } };
}
