import type { KubeObject, NewObject } from "../api/meta.ts";
import { parseIdentity, parseObject } from "../api/parse.ts";
import { pathOf, pods, type Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import type { ApiError, Attempt, Verb } from "./api-error.ts";
import { ListDecoder, listForms } from "./decoding/list-decoder.ts";
import type { Unusable } from "./decoding/list-intake.ts";
import { identityKept } from "./decoding/members.ts";
import { type ApiCall, Exchange, unreadable } from "./exchange.ts";
import type { FailingRequests } from "./failing-requests.ts";
import { bodyText } from "./json-text.ts";
import type { Permissions } from "./permissions.ts";
import type { Allowance } from "./request-limiter.ts";
import type { Traffic } from "./traffic.ts";
import type { Transport } from "./transport/transport.ts";
import { type WatchEvent, watchEvents } from "./watch-stream.ts";

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** How a request waits for the rate limiter. */
export interface RequestWait {
  /** Aborts the wait; a request already sent continues. Default: the request's signal. */
  readonly patience?: AbortSignal | undefined;
  /** The lane of the request. Default: "boards". */
  readonly lane?: Lane | undefined;
}

export interface Refusable {
  /**
   * Called for each refusal after which the request is repeated, because the server named a time for it. Such a request
   * may last for five minutes without a usable response.
   */
  readonly refused?: ((error: ApiError) => void) | undefined;
}

export interface WriteOptions extends RequestWait, Refusable {
  readonly signal: AbortSignal;
  /** Called immediately before each attempt is sent; throws if the write is no longer permitted (fencing). */
  readonly guard?: (() => void) | undefined;
}

interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Requests only metadata; spec and status are not transferred. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends Selection, Refusable {
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
  /** The unusable objects whose identity could be read. */
  readonly unusable?: readonly Unusable<KubeObject>[];
}

/** Makes a page wait for its turn if it is requested while the previous page is still being read. */
export interface PageInLine {
  /** The response is not read before this resolves. */
  readonly turn: Promise<void>;
  /** Called as soon as the continue token is known, usually before the first object. */
  readonly onContinue: (token: string) => void;
}

export interface WatchOptions extends Selection, Refusable {
  /** After this time the server ends the watch. */
  readonly timeoutSeconds: number;
  /** Called with the byte count of each chunk, because a large event arrives in many chunks. */
  readonly arrived?: ((bytes: number) => void) | undefined;
}

/**
 * Time limits. `read` and `write`: until the whole response has arrived. `list`: until its headers have, and between
 * chunks. `watch`: until its headers have.
 */
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

export interface KubeClientDeps {
  readonly transport: Transport;
  readonly traffic: Traffic;
  readonly limiter: Allowance;
  readonly timeouts: Timeouts;
  /** Records forbidden requests; undefined for a client whose missing permissions are not reported. */
  readonly permissions?: Permissions;
  /** Counts failing requests; undefined for a client whose requests are not counted. */
  readonly failing?: Pick<FailingRequests, "succeeded" | "failed">;
  /** "siteward/1.2.0". The API server records the part before the slash as the field manager of our writes. */
  readonly userAgent: string;
}

/** A client for the Kubernetes API. Methods throw ApiError, or the signal's reason if they are aborted. */
export class KubeClient {
  readonly #deps: KubeClientDeps;
  readonly #exchange: Exchange;

  constructor(ambient: Ambient, deps: KubeClientDeps) {
    this.#deps = deps;
    this.#exchange = new Exchange(ambient, deps);
  }

  get<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName & { readonly metadataOnly?: boolean },
    signal: AbortSignal,
    { patience, lane }: RequestWait = {},
  ): Promise<T> {
    const call = {
      ...this.#call("get", resource, at),
      method: "GET",
      headers: this.#headers({ accept: at.metadataOnly ? partial("PartialObjectMetadata") : json }),
      signal,
      patience,
      lane,
    } as const;
    return this.#object(resource, call, at.metadataOnly);
  }

  /**
   * Lists one page. Passes each object to `each` as soon as it is parsed; if the call fails after that, the caller must
   * discard them. Pods may have only the fields that the cache keeps.
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult> {
    const accept = options.metadataOnly ? partial("PartialObjectMetadataList") : listForms(resource);
    const call: ApiCall = {
      ...this.#call("list", resource, { namespace: options.namespace }),
      method: "GET",
      path: `${pathOf(resource, { namespace: options.namespace })}${queryOf(options, {
        limit: options.limit,
        continue: options.continue,
        resourceVersionMatch: options.resourceVersionMatch,
      })}`,
      headers: this.#headers({ accept, "accept-encoding": "gzip" }),
      signal,
      refused: options.refused,
    };
    const decoder = new ListDecoder(resource, { each, onContinue: inLine?.onContinue });
    const body = await this.#exchange.stream(call);
    await inLine?.turn;
    for await (const chunk of body) decoder.push(chunk);
    const meta = decoder.end();
    if (meta === undefined) throw unreadable(call, "the response was truncated, or is not a list");
    const { items, rejectedItems, rejected, unusable } = decoder;
    return { ...meta, items, rejectedItems, rejected, unusable };
  }

  /** Resolves when the headers have arrived. Leaving the loop over the result ends the watch. */
  async watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const call: ApiCall = {
      ...this.#call("watch", resource, { namespace: options.namespace }),
      method: "GET",
      path: `${pathOf(resource, { namespace: options.namespace })}${queryOf(options, {
        watch: "true",
        allowWatchBookmarks: "true",
        timeoutSeconds: options.timeoutSeconds,
      })}`,
      headers: this.#headers({ accept: options.metadataOnly ? partial("PartialObjectMetadata") : json }),
      signal,
      refused: options.refused,
    };
    const body = reported(await this.#exchange.stream(call), options.arrived);
    return watchEvents(body, { resource, metadataOnly: options.metadataOnly }, call);
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    { metadataOnly, ...write }: WriteOptions & { readonly metadataOnly?: boolean },
  ): Promise<T> {
    const { name, generateName } = object.metadata;
    const call = {
      ...this.#call("create", resource, { namespace, name: name ?? `${generateName ?? ""}*` }),
      ...write,
      method: "POST" as const,
      path: pathOf(resource, { namespace }),
      headers: this.#headers({
        accept: metadataOnly ? partial("PartialObjectMetadata") : json,
        "content-type": json,
      }),
      body: () => bodyText(resource, object),
    };
    return metadataOnly ? this.#written(resource, call) : this.#object(resource, call);
  }

  /** Replaces the whole object. If metadata.resourceVersion is set, the write fails with Conflict unless it matches. */
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
      body: () => bodyText(resource, object),
    });
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName & { readonly subresource?: "status" },
    type: keyof typeof patchTypes,
    patch: object,
    write: WriteOptions & { readonly metadataOnly?: boolean },
  ): Promise<T> {
    const call = {
      ...this.#call("patch", resource, at),
      signal: write.signal,
      patience: write.patience,
      lane: write.lane,
      guard: write.guard,
      refused: write.refused,
      method: "PATCH" as const,
      headers: this.#headers({
        accept: write.metadataOnly ? partial("PartialObjectMetadata") : json,
        "content-type": patchTypes[type],
      }),
      body: () => bodyText(resource, patch),
    };
    return write.metadataOnly ? this.#written(resource, call) : this.#object(resource, call);
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
      // Requests metadata only, because otherwise the response would contain the whole Pod if it terminates gracefully.
      headers: this.#headers({ accept: partial("PartialObjectMetadata"), "content-type": json }),
      body: () => JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds, preconditions }),
      kept: identityKept,
    });
  }

  /** Evicts a Pod. Fails with TooManyRequests if a disruption budget does not permit it. */
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
      body: () =>
        JSON.stringify({
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name: at.name, namespace: at.namespace },
          deleteOptions: isPlain ? undefined : { preconditions, gracePeriodSeconds },
        }),
      kept: identityKept,
    });
  }

  /** Binds a Pod to a board. Fails with Conflict if the Pod is already bound. */
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
      body: () =>
        JSON.stringify({
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name: at.name, namespace: at.namespace, uid },
          target: { apiVersion: "v1", kind: "Node", name: board },
        }),
      kept: identityKept,
    });
  }

  async #object<T extends KubeObject>(resource: Resource<T>, call: ApiCall, isBrief = false): Promise<T> {
    const parsed = parseObject(await this.#exchange.answer(call), resource, isBrief);
    if (!parsed.ok) throw unusable(call, parsed.why);
    return parsed.object;
  }

  /**
   * The metadata of the written object; only name, namespace, uid and resourceVersion if it is long or otherwise
   * unusable. Throws only if even these cannot be read, because an error causes a successful write to be repeated.
   */
  async #written<T extends KubeObject>(resource: Resource<T>, call: ApiCall): Promise<T> {
    const answer = await this.#exchange.answer({ ...call, kept: identityKept });
    const identity = parseIdentity(answer, resource);
    const parsed = parseObject(answer, resource, true);
    if (parsed.ok) return parsed.object;
    if (identity === undefined) throw unusable(call, parsed.why);
    return identity;
  }

  #call(
    verb: Verb,
    resource: Resource<KubeObject>,
    at: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string },
  ): Attempt & { readonly resource: Resource<KubeObject>; readonly path: string; readonly timeout: Millis } {
    const { read, list, watch, write } = this.#deps.timeouts;
    const timeout = verb === "get" ? read : verb === "list" ? list : verb === "watch" ? watch : write;
    return { verb, resource, target: targetOf(resource, at), path: pathOf(resource, at), timeout };
  }

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return { "user-agent": this.#deps.userAgent, ...headers };
  }
}

async function* reported(
  body: AsyncIterable<Uint8Array>,
  arrived: WatchOptions["arrived"],
): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of body) {
    arrived?.(chunk.length);
    yield chunk;
  }
}

const unusable = (call: ApiCall, why: string): ApiError => unreadable(call, `the response cannot be used: ${why}`);

/** The target of a request, for messages: "pod default/web status", "pods in default", "nodes". */
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
