import type { KubeObject, NewObject } from "../api/meta.ts";
import { parseObject } from "../api/parse.ts";
import { pathOf, pods, type Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { Lane } from "../base/lanes.ts";
import type { Attempt, Verb } from "./api-error.ts";
import { type Call, Exchange, unreadable } from "./exchange.ts";
import { jsonText } from "./json-text.ts";
import { ListDecoder, listForms } from "./list-decoder.ts";
import type { Permissions } from "./permissions.ts";
import type { Allowance } from "./request-limiter.ts";
import type { Traffic } from "./traffic.ts";
import type { Transport } from "./transport.ts";
import { type WatchEvent, watchEvents } from "./watch-stream.ts";

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** How a request waits for the allowance of requests. */
export interface Waiting {
  /** Ends the wait; a request already sent continues. */
  readonly patience?: AbortSignal | undefined;
  /** Default: "boards". */
  readonly lane?: Lane | undefined;
}

export interface WriteOptions extends Waiting {
  readonly signal: AbortSignal;
  /** Called immediately before each attempt is sent; throws if the write may no longer happen (fencing). */
  readonly guard?: (() => void) | undefined;
}

interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Metadata only: spec and status are not transferred. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends Selection {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
}

export interface ListResult {
  readonly resourceVersion: string;
  /** The continue token of the next page; undefined on the last. */
  readonly continue: string | undefined;
  readonly items: number;
  /** Number of unusable objects, and the reasons for the first of them. */
  readonly rejectedItems: number;
  readonly rejected: readonly string[];
}

/** For a page that may be requested before its turn. */
export interface PageInLine {
  /** The answer is not read before this resolves. */
  readonly turn: Promise<void>;
  /** Called as soon as the continue token is known, usually before the first object. */
  readonly goesOn: (token: string) => void;
}

export interface WatchOptions extends Selection {
  /** After this time the server ends the watch. */
  readonly timeoutSeconds: number;
}

/** For a whole small answer; for a list until it begins and between its chunks; for a watch until it begins. */
export interface Timeouts {
  readonly read: Millis;
  readonly list: Millis;
  readonly watch: Millis;
  readonly write: Millis;
}

const patchTypes = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
} as const;

const json = "application/json";
const partial = (kind: string): string => `${json};as=${kind};g=meta.k8s.io;v=v1,${json}`;

export interface KubeClientParts {
  readonly transport: Transport;
  readonly traffic: Traffic;
  readonly limiter: Allowance;
  readonly timeouts: Timeouts;
  /** Records forbidden requests; left out where a refusal is no problem. */
  readonly permissions?: Permissions;
  /** "siteward/1.2.0": the part before the slash is the field manager of our writes. */
  readonly userAgent: string;
}

/** The part of the Kubernetes API that we use. Failures are ApiErrors; an aborted call throws the signal's reason. */
export class KubeClient {
  readonly #parts: KubeClientParts;
  readonly #exchange: Exchange;

  constructor(ambient: Ambient, parts: KubeClientParts) {
    this.#parts = parts;
    this.#exchange = new Exchange(ambient, parts);
  }

  get<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName & { readonly metadataOnly?: boolean },
    signal: AbortSignal,
    { patience, lane }: Waiting = {},
  ): Promise<T> {
    return this.#object(resource, {
      ...this.#call("get", resource, at),
      method: "GET",
      headers: this.#headers({ accept: at.metadataOnly ? partial("PartialObjectMetadata") : json }),
      signal,
      patience,
      lane,
    });
  }

  /**
   * Lists one page. `each` gets an object as soon as it is parsed; if the page then fails, those objects do not count.
   * Pods may arrive with only the fields that the cache keeps.
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult> {
    const accept = options.metadataOnly ? partial("PartialObjectMetadataList") : listForms(resource);
    const call: Call = {
      ...this.#call("list", resource, { namespace: options.namespace }),
      method: "GET",
      path: `${pathOf(resource, { namespace: options.namespace })}${queryOf(options, {
        limit: options.limit,
        continue: options.continue,
        resourceVersionMatch: options.resourceVersionMatch,
      })}`,
      headers: this.#headers({ accept, "accept-encoding": "gzip" }),
      signal,
    };
    const decoder = new ListDecoder(resource, { each, goesOn: inLine?.goesOn });
    const body = await this.#exchange.stream(call);
    await inLine?.turn;
    for await (const chunk of body) decoder.push(chunk);
    const meta = decoder.end();
    if (meta === undefined) throw unreadable(call, "the answer was cut short, or is no list");
    const { items, rejectedItems, rejected } = decoder;
    return { ...meta, items, rejectedItems, rejected };
  }

  /** Resolves when the answer has begun. Leaving the loop over it ends the watch. */
  async watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const call: Call = {
      ...this.#call("watch", resource, { namespace: options.namespace }),
      method: "GET",
      path: `${pathOf(resource, { namespace: options.namespace })}${queryOf(options, {
        watch: "true",
        allowWatchBookmarks: "true",
        timeoutSeconds: options.timeoutSeconds,
      })}`,
      headers: this.#headers({ accept: options.metadataOnly ? partial("PartialObjectMetadata") : json }),
      signal,
    };
    return watchEvents(await this.#exchange.stream(call), { resource, metadataOnly: options.metadataOnly }, call);
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    write: WriteOptions,
  ): Promise<T> {
    const { name, generateName } = object.metadata;
    return this.#object(resource, {
      ...this.#call("create", resource, { namespace, name: name ?? `${generateName ?? ""}*` }),
      ...write,
      method: "POST",
      path: pathOf(resource, { namespace }),
      headers: this.#headers({ accept: json, "content-type": json }),
      body: jsonText(object),
    });
  }

  /** Writes the whole object. Its metadata.resourceVersion, if set, is the precondition. */
  update<T extends KubeObject>(
    resource: Resource<T>,
    object: object & { readonly metadata: ObjectName },
    write: WriteOptions,
  ): Promise<T> {
    return this.#object(resource, {
      ...this.#call("update", resource, object.metadata),
      ...write,
      method: "PUT",
      headers: this.#headers({ accept: json, "content-type": json }),
      body: jsonText(object),
    });
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName & { readonly subresource?: "status" },
    type: keyof typeof patchTypes,
    patch: object,
    write: WriteOptions & { readonly metadataOnly?: boolean },
  ): Promise<T> {
    return this.#object(resource, {
      ...this.#call("patch", resource, at),
      signal: write.signal,
      patience: write.patience,
      lane: write.lane,
      guard: write.guard,
      method: "PATCH",
      headers: this.#headers({
        accept: write.metadataOnly ? partial("PartialObjectMetadata") : json,
        "content-type": patchTypes[type],
      }),
      body: jsonText(patch),
    });
  }

  async delete(
    resource: Resource<KubeObject>,
    at: ObjectName,
    options: {
      readonly uid?: string | undefined;
      readonly resourceVersion?: string | undefined;
      readonly gracePeriodSeconds?: number | undefined;
    },
    write: WriteOptions,
  ): Promise<void> {
    const { uid, resourceVersion, gracePeriodSeconds } = options;
    const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    await this.#exchange.answer({
      ...this.#call("delete", resource, at),
      ...write,
      method: "DELETE",
      // A Pod that terminates gracefully is returned whole; no caller reads it.
      headers: this.#headers({ accept: partial("PartialObjectMetadata"), "content-type": json }),
      body: JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds, preconditions }),
    });
  }

  /** Asks for the removal of a Pod; a disruption budget may refuse it (TooManyRequests). */
  async evict(
    at: { readonly namespace: string; readonly name: string },
    {
      uid,
      gracePeriodSeconds,
    }: { readonly uid?: string | undefined; readonly gracePeriodSeconds?: number | undefined },
    write: WriteOptions,
  ): Promise<void> {
    const preconditions = uid === undefined ? undefined : { uid };
    const isPlain = preconditions === undefined && gracePeriodSeconds === undefined;
    await this.#exchange.answer({
      ...this.#call("evict", pods, at),
      ...write,
      method: "POST",
      path: pathOf(pods, { ...at, subresource: "eviction" }),
      headers: this.#headers({ accept: json, "content-type": json }),
      body: JSON.stringify({
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: at.name, namespace: at.namespace },
        deleteOptions: isPlain ? undefined : { preconditions, gracePeriodSeconds },
      }),
    });
  }

  /** Binds a Pod to a board. Fails with a conflict if it is bound already. */
  async bind(
    at: { readonly namespace: string; readonly name: string },
    { uid, board }: { readonly uid?: string | undefined; readonly board: string },
    write: WriteOptions,
  ): Promise<void> {
    await this.#exchange.answer({
      ...this.#call("bind", pods, at),
      ...write,
      method: "POST",
      path: pathOf(pods, { ...at, subresource: "binding" }),
      headers: this.#headers({ accept: json, "content-type": json }),
      body: JSON.stringify({
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: at.name, namespace: at.namespace, uid },
        target: { apiVersion: "v1", kind: "Node", name: board },
      }),
    });
  }

  async #object<T extends KubeObject>(resource: Resource<T>, call: Call): Promise<T> {
    const parsed = parseObject(await this.#exchange.answer(call), resource);
    if (!parsed.ok) throw unreadable(call, `the answer cannot be used: ${parsed.why}`);
    return parsed.object;
  }

  #call(
    verb: Verb,
    resource: Resource<KubeObject>,
    at: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string },
  ): Attempt & { readonly resource: Resource<KubeObject>; readonly path: string; readonly timeout: Millis } {
    const { read, list, watch, write } = this.#parts.timeouts;
    const timeout = verb === "get" ? read : verb === "list" ? list : verb === "watch" ? watch : write;
    return { verb, resource, target: targetOf(resource, at), path: pathOf(resource, at), timeout };
  }

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return { "user-agent": this.#parts.userAgent, ...headers };
  }
}

/** "pod default/web status", "pods in default", "nodes". */
function targetOf(
  { kind, plural }: Resource<KubeObject>,
  {
    namespace,
    name,
    subresource,
  }: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string },
): string {
  if (name === undefined) return namespace === undefined ? plural : `${plural} in ${namespace}`;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind.toLowerCase()} ${place}${subresource === undefined ? "" : ` ${subresource}`}`;
}

function queryOf(
  { labelSelector, fieldSelector, resourceVersion }: Selection,
  more: Readonly<Record<string, string | number | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ labelSelector, fieldSelector, resourceVersion, ...more })) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query}`;
}
