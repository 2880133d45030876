import type { Node } from "../../../agent/api/core.ts";
import { isJsonObject, type JsonObject } from "../../../agent/api/json.ts";
import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { parseObject } from "../../../agent/api/parse.ts";
import { type Resource, resourceName } from "../../../agent/api/resources.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import type { Disposition } from "../../../agent/base/errors.ts";
import { PostponedError } from "../../../agent/base/postponed.ts";
import { atOnce } from "../../../agent/base/steps.ts";
import type { Action, EventAction, ObjectRef, Outcome } from "../../../agent/execution/actions.ts";
import { OwnVersions } from "../../../agent/execution/chains.ts";
import {
  closed,
  neverConnected,
  opened,
  proven,
  received,
  type WatchHealth,
  type WatchLimits,
} from "../../../agent/informer/watch-health.ts";
import type { Seen, SiteView } from "../../../agent/loop/controller.ts";
import { mergeSchemaOf } from "../../../simulator/patches/merge-keys.ts";
import { mergedObject } from "../../../simulator/patches/merge-patch.ts";
import { applyStrategicMerge } from "../../../simulator/patches/strategic-merge.ts";
import { shown } from "../../support/builders.ts";
import { listerOf } from "../../support/lister.ts";

/** Objects of one kind: as the API server has them, and as the cache last received them. */
interface Table {
  readonly server: Map<string, KubeObject>;
  readonly cache: Map<string, KubeObject>;
  readonly pending: Set<string>;
  /** The resourceVersion up to which the cache has received everything. */
  position: string;
  health: WatchHealth;
}

export type Kind = "Node" | "Pod" | "Lease";

export class Refused extends Error {
  readonly disposition: Disposition;
  readonly reason: string;

  constructor(reason: string, disposition: Disposition) {
    super(reason);
    this.reason = reason;
    this.disposition = disposition;
  }
}

type Listen = (kind: Kind, change: Seen<KubeObject>) => void;

/** An API server that is three maps, and a link to it that can be cut, or half-open: connected, and deaf. */
export class ModelApi {
  /** Decides about the writes that fail: answers how, or undefined. */
  refuse: (action: Action) => Disposition | undefined = () => undefined;
  link: "up" | "cut" | "half-open" | "unwatched" = "up";
  /** Writes that go through in one round of the judge; the others are postponed. */
  allowance = Number.POSITIVE_INFINITY;
  /** The kinds whose watches are live and late: what they bring is on its way. */
  readonly late = new Set<Kind>();
  readonly events: EventAction[] = [];
  readonly fetched: string[] = [];
  readonly #limits: WatchLimits;
  readonly #now: () => Instant;
  readonly #note: (what: string) => void;
  readonly #listen: Listen;
  readonly #tables: Readonly<Record<Kind, Table>> = { Node: newTable(), Pod: newTable(), Lease: newTable() };
  #version = 100;

  constructor(deps: { limits: WatchLimits; now: () => Instant; note: (what: string) => void; listen: Listen }) {
    this.#limits = deps.limits;
    this.#now = deps.now;
    this.#note = deps.note;
    this.#listen = deps.listen;
    this.#open();
  }

  get(kind: Kind, key: string): KubeObject | undefined {
    return this.#tables[kind].server.get(key);
  }

  cached(kind: Kind): Iterable<[string, KubeObject]> {
    return this.#tables[kind].cache;
  }

  put(kind: Kind, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#tables[kind].server.set(keyOf(stored), stored);
    this.#tables[kind].pending.add(keyOf(stored));
    this.#deliver();
    return stored;
  }

  remove(kind: Kind, key: string): void {
    this.#tables[kind].server.delete(key);
    this.#tables[kind].pending.add(key);
    this.#deliver();
  }

  /** It left the selection: gone from the cache, still there in the API. */
  release(kind: Kind, key: string): void {
    const { cache } = this.#tables[kind];
    const before = cache.get(key);
    cache.delete(key);
    this.#listen(kind, { key, before, after: undefined });
  }

  cut(): void {
    this.link = "cut";
    for (const table of this.#all) table.health = closed(table.health, this.#limits, this.#now());
  }

  /** The watches break, and what is asked for or written goes through: so it is while the cache cannot be written. */
  breakWatches(): void {
    this.cut();
    this.link = "unwatched";
  }

  /** The watches are open again; `behind`: what they missed is on its way until `restore`. */
  restore(behind: "behind" | "at once" = "at once"): void {
    this.#open();
    if (behind === "behind") return;
    this.link = "up";
    this.#deliver();
  }

  /** A new process: it has received nothing yet. */
  reboot(): void {
    for (const table of this.#all) table.health = neverConnected;
    this.#open();
  }

  /** The resourceVersion moves as long as the server has its etcd: a bookmark is a proof then. */
  bookmark(): void {
    if (this.link === "cut" || this.link === "unwatched") return;
    for (const table of this.#all) {
      const health = received(table.health, this.#limits, this.#now());
      table.health = this.link === "up" ? proven(health, this.#now()) : health;
    }
  }

  get view(): SiteView {
    return {
      now: this.#now(),
      lister: <T extends KubeObject>(resource: Resource<T>) => {
        const { cache } = this.#table(resource);
        // What stands under a resource is of its type.
        const all = () => [...cache].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object as T);
        return listerOf(resource, all, (key) => cache.get(key) as T | undefined);
      },
      fetch: async <T extends KubeObject>(resource: Resource<T>, key: string) => {
        this.fetched.push(`${resourceName(resource)} ${key}`);
        if (this.link === "cut") throw new Refused("the API does not answer", "retry");
        return this.#table(resource).server.get(key) as T | undefined;
      },
      inTurns: atOnce,
      watch: (resource) => this.#table(resource).health,
      position: (resource) => this.#table(resource).position,
    };
  }

  /** As the executor does it: in order, and what follows a failed act on the same object is not attempted. */
  execute(actions: readonly Action[], isPatient = false): readonly Outcome[] {
    const broken = new Set<string>();
    let left = isPatient ? this.allowance : Number.POSITIVE_INFINITY;
    const versions = new Map<string, OwnVersions>();
    return actions.map((decided): Outcome => {
      const object = objectOf(decided);
      const own = versions.get(object) ?? new OwnVersions();
      versions.set(object, own);
      const action = own.updated(decided);
      try {
        if (broken.has(object)) throw new Refused("not attempted", "retry");
        if (action.do !== "event" && left-- <= 0) throw new PostponedError("no time left");
        const answer = this.#perform(action);
        own.wrote(action, answer);
        const at = this.#now();
        return answer === undefined ? { action, ok: true, at } : { action, ok: true, at, object: answer };
      } catch (error) {
        broken.add(object);
        return { action, ok: false, at: this.#now(), error: error instanceof Error ? error : new Error(String(error)) };
      }
    });
  }

  #open(): void {
    for (const table of this.#all) {
      table.health = proven(opened(table.health, this.#limits, this.#now()), this.#now());
    }
  }

  /** What the watches bring, unless they cannot. */
  #deliver(): void {
    if (this.link !== "up") return;
    for (const kind of ["Node", "Pod", "Lease"] as const) {
      if (this.late.has(kind)) continue;
      const table = this.#tables[kind];
      table.position = String(this.#version);
      const keys = [...table.pending];
      table.pending.clear();
      if (keys.length > 0) table.health = proven(received(table.health, this.#limits, this.#now()), this.#now());
      for (const key of keys) {
        const before = table.cache.get(key);
        const after = table.server.get(key);
        if (after === undefined) table.cache.delete(key);
        else table.cache.set(key, after);
        this.#listen(kind, { key, before, after });
      }
    }
  }

  #perform(action: Action): KubeObject | undefined {
    if (action.do === "event") {
      this.events.push(action);
      this.#note(`${action.reason} ${action.about.name}${/Cancelling/.test(action.message) ? " cancelled" : ""}`);
      return undefined;
    }
    if (this.link === "cut") throw new Refused("the API does not answer", "retry");
    const refused = this.refuse(action);
    if (refused !== undefined) throw new Refused("refused", refused);
    if (action.do === "patch") return this.#patch(action);
    if (action.do !== "delete") throw new Error(`the model cannot ${action.do}`);
    const { metadata } = this.#found(action.target);
    this.#note(`deleted ${metadata.name}`);
    this.remove("Pod", `${metadata.namespace}/${metadata.name}`);
    return undefined;
  }

  #patch(action: Extract<Action, { do: "patch" }>): KubeObject {
    const { target } = action;
    const before = this.#found(target);
    const after = patched(before, action);
    for (const what of differences(before, after)) this.#note(`${target.name} ${what}`);
    return this.put(target.resource.kind === "Node" ? "Node" : "Pod", after);
  }

  #found(target: ObjectRef): KubeObject {
    const key = target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;
    const found = this.#table(target.resource).server.get(key);
    if (found === undefined) throw new Refused("NotFound", "refresh");
    const { uid, resourceVersion } = found.metadata;
    const isOther = target.resourceVersion !== undefined && target.resourceVersion !== resourceVersion;
    if (uid !== target.uid || isOther) throw new Refused("Conflict", "refresh");
    return found;
  }

  get #all(): readonly Table[] {
    return Object.values(this.#tables);
  }

  #table({ kind }: Resource<KubeObject>): Table {
    if (kind !== "Node" && kind !== "Pod" && kind !== "Lease") throw new Error(`no table of ${kind}`);
    return this.#tables[kind];
  }
}

const newTable = (): Table => ({
  server: new Map(),
  cache: new Map(),
  pending: new Set(),
  position: "0",
  health: neverConnected,
});

function objectOf(action: Action): string {
  if (action.do === "create") return "";
  const { resource, namespace, name } = action.do === "event" ? action.about : action.target;
  return `${resource.kind} ${namespace} ${name}`;
}

interface Patched extends KubeObject {
  readonly spec?: Node["spec"];
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function patched(before: KubeObject, { target, type, patch }: Extract<Action, { do: "patch" }>): KubeObject {
  const [object, body] = [jsonOf(before), jsonOf(patch)];
  const after =
    type === "merge"
      ? mergedObject(object, body)
      : applyStrategicMerge(object, body, mergeSchemaOf(target.resource.kind));
  const parsed = parseObject(after, target.resource);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.object;
}

/** As it goes over the wire. */
function jsonOf(object: object): JsonObject {
  const json: unknown = JSON.parse(JSON.stringify(object));
  if (!isJsonObject(json)) throw new Error("an object is a JSON object");
  return json;
}

function differences(before: Patched, after: Patched): readonly string[] {
  const had = (before.spec?.taints ?? []).map(shown);
  const has = (after.spec?.taints ?? []).map(shown);
  const said = (before.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  const says = (after.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  return [
    ...has.filter((taint) => !had.includes(taint)).map((taint) => `+${taint}`),
    ...had.filter((taint) => !has.includes(taint)).map((taint) => `-${taint}`),
    ...says.filter((condition) => !said.includes(condition)),
  ];
}
