import { isJsonObject, isSameJson, type JsonObject } from "../../api/json.ts";
import { mergeSchemaOf } from "../../api/merge-keys.ts";
import { mergedObject } from "../../api/merge-patch.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { parseObject } from "../../api/parse.ts";
import { type Resource, resourceName } from "../../api/resources.ts";
import { applyStrategicMerge } from "../../api/strategic-merge.ts";
import type { Clock } from "../../base/clock.ts";
import { ApiError, type Verb } from "../../client/api-error.ts";
import { kindOf } from "../../informer/kinds.ts";
import type { Lister } from "../../informer/lister.ts";
import type { WatchHealth } from "../../informer/watch-health.ts";
import type { Seen } from "../../runtime/controller.ts";
import type { Writer } from "../../runtime/executor.ts";
import type { Cache, Caches, Reader } from "../../runtime/site-view.ts";
import { MalformedCase } from "../malformed.ts";

/** A request to write, and what became of it. */
export interface Write {
  readonly verb: "create" | "patch" | "delete" | "evict";
  readonly resource: Resource<KubeObject>;
  readonly key: string;
  readonly subresource: "status" | undefined;
  /** As it was sent, with its preconditions. */
  readonly body: object;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /** "Conflict", "NotFound": why it did not go through. */
  readonly refused: string | undefined;
}

export interface MemoryApiParts {
  /** Answers why a write shall fail: "Conflict", "InternalError". */
  refuse(write: {
    readonly resource: Resource<KubeObject>;
    readonly key: string;
    readonly subresource?: string;
  }): string | undefined;
  wrote(write: Write): void;
}

interface Table {
  readonly resource: Resource<KubeObject>;
  readonly objects: Map<string, KubeObject>;
  readonly listeners: Set<(changes: readonly Seen<KubeObject>[]) => void>;
}

const httpStatus: Readonly<Record<string, number>> = { Conflict: 409, NotFound: 404, Forbidden: 403, Timeout: 504 };

/**
 * An API server that is a few maps, with watches that never fail and deliver at once. Patches merge, preconditions hold
 * and the status is a subresource, as on a real one; caches trim and keep quiet about heartbeats, as the informers do.
 */
export class MemoryApi implements Writer, Reader, Caches {
  readonly #clock: Clock;
  readonly #parts: MemoryApiParts;
  readonly #tables = new Map<string, Table>();
  #version = 0;

  constructor({ clock }: { readonly clock: Clock }, parts: MemoryApiParts) {
    this.#clock = clock;
    this.#parts = parts;
  }

  // What happens to the site without us.

  find<T extends KubeObject>(resource: Resource<T>, key: string): T | undefined {
    // A table holds what was put under its own resource.
    return this.#table(resource).objects.get(key) as T | undefined;
  }

  all<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    const { objects } = this.#table(resource);
    return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object as T);
  }

  /** Creates or replaces. What lacks a uid gets one; what changes nothing keeps its version. */
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

  remove(resource: Resource<KubeObject>, key: string): KubeObject | undefined {
    const { objects } = this.#table(resource);
    const before = objects.get(key);
    if (before === undefined) return undefined;
    objects.delete(key);
    this.#tell(resource, { key, before, after: undefined });
    return before;
  }

  // What the agent asks.

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const table = this.#table(resource);
    const now = this.#clock.now();
    const health: WatchHealth = {
      connected: true,
      lastHeard: now,
      lastProof: now,
      restoredAt: undefined,
      deafSince: undefined,
    };
    return {
      lister: this.#lister(resource),
      health,
      onChange: (listen) => {
        // Its changes are of objects of this resource.
        const entry = listen as (changes: readonly Seen<KubeObject>[]) => void;
        table.listeners.add(entry);
        return () => void table.listeners.delete(entry);
      },
    };
  }

  async get<T extends KubeObject>(resource: Resource<T>, at: { namespace?: string; name: string }): Promise<T> {
    return this.#found(resource, at, "get");
  }

  async create<T extends KubeObject>(resource: Resource<T>): Promise<T> {
    throw new Error(`cases know of nothing that creates ${resourceName(resource)}`);
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
      return this.#store(resource, before, status === undefined ? rest : { ...rest, status });
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
      this.#parts.wrote({ verb, resource, key, subresource, body, before, after, refused });
    try {
      const refused = this.#parts.refuse({ resource, key, ...(subresource && { subresource }) });
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

  /** Another writer was faster, with something that nobody here reads. */
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
    this.#tell(resource, { key: keyOf(after), before, after });
    return after;
  }

  #tell(resource: Resource<KubeObject>, { key, before, after }: Seen<KubeObject>): void {
    const { trim, isQuiet } = kindOf(resource);
    const change = { key, before: before && trim(before), after: after && trim(after) };
    if (change.before && change.after && isQuiet?.(change.before, change.after)) return;
    for (const listen of this.#table(resource).listeners) listen([change]);
  }

  #lister<T extends KubeObject>(resource: Resource<T>): Lister<T> {
    const { trim, indices } = kindOf(resource);
    const cached = (): readonly T[] => this.all(resource).map(trim);
    const { objects } = this.#table(resource);
    return {
      get: (key) => {
        const found = this.find(resource, key);
        return found && trim(found);
      },
      list: () => cached().values(),
      byIndex: (index, value) =>
        cached()
          .filter((object) => indices[index]?.(object).includes(value))
          .values(),
      get size() {
        return objects.size;
      },
    };
  }

  #table(resource: Resource<KubeObject>): Table {
    const name = resourceName(resource);
    const found = this.#tables.get(name);
    if (found) return found;
    const table: Table = { resource, objects: new Map(), listeners: new Set() };
    this.#tables.set(name, table);
    return table;
  }
}

const refusal = (verb: Verb, target: string, reason: string): ApiError =>
  new ApiError({ verb, target }, { status: httpStatus[reason] ?? 500, reason, message: `refused: ${reason}` });

/** uid and resourceVersion in the body are preconditions. */
function meets({ metadata }: KubeObject, body: JsonObject): boolean {
  const { uid, resourceVersion } = isJsonObject(body.metadata) ? body.metadata : {};
  return (
    (uid === undefined || uid === metadata.uid) &&
    (resourceVersion === undefined || resourceVersion === metadata.resourceVersion)
  );
}

function withoutKind({ kind: _kind, apiVersion: _apiVersion, ...object }: JsonObject): JsonObject {
  return object;
}
