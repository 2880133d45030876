import type { KubeObject, NewObject } from "../../agent/api/meta.ts";
import { pathOf, type Resource } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { deadline, type Millis } from "../../agent/base/clock.ts";
import type { HasDisposition } from "../../agent/base/errors.ts";
import type { SiteExchange, SiteRequest } from "./exchange.ts";

export type SiteEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

/** Selects the objects of a resource. */
export interface ListScope {
  readonly namespace?: string;
  readonly fieldSelector?: string;
}

export interface ObjectPlace {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: "status";
}

/** The site API responded with an error. */
export class SiteError extends Error implements HasDisposition {
  override readonly name = "SiteError";
  readonly disposition = "retry";
  readonly status: number;
  /** The reason of the failed request, or of a watch's ERROR event, such as "NotFound", "Conflict" or "Expired". */
  readonly reason: string;

  constructor(attempt: string, status: number, reason: string, message: string) {
    super(`${attempt}: ${status} ${reason}${message === "" ? "" : `: ${message}`}`);
    this.status = status;
    this.reason = reason;
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof SiteError && error.status === 404;
export const isGone = (error: unknown): boolean => error instanceof SiteError && error.status === 410;
export const isTaken = (error: unknown): boolean => error instanceof SiteError && error.status === 409;

/**
 * The requests of simulated boards, stand-in controllers and the table: JSON, whole lists, no retries. The agent has
 * its own client, with which this one shares no code, so that neither can hide a bug in the other.
 */
export class SiteClient {
  readonly #ambient: Pick<Ambient, "clock">;
  readonly #exchange: SiteExchange;
  readonly #timeout: Millis;
  readonly #userAgent: string;

  constructor(
    ambient: Pick<Ambient, "clock">,
    deps: { readonly exchange: SiteExchange; readonly timeout: Millis; readonly userAgent: string },
  ) {
    this.#ambient = ambient;
    this.#exchange = deps.exchange;
    this.#timeout = deps.timeout;
    this.#userAgent = deps.userAgent;
  }

  /** Reads an object; `undefined` if it does not exist. */
  async get<T extends KubeObject>(resource: Resource<T>, at: ObjectPlace, signal: AbortSignal): Promise<T | undefined> {
    try {
      return objectOf<T>(await this.#ask("GET", pathOf(resource, at), signal));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    scope: ListScope,
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }> {
    const path = `${pathOf(resource, scope)}${query({ fieldSelector: scope.fieldSelector })}`;
    const answer = await this.#ask("GET", path, signal);
    if (!isRecord(answer) || !Array.isArray(answer.items) || !isRecord(answer.metadata)) throw unreadable(path);
    const { resourceVersion } = answer.metadata;
    if (typeof resourceVersion !== "string") throw unreadable(path);
    return { items: answer.items.map((item) => objectOf<T>(item)), resourceVersion };
  }

  /** Yields the events of a watch until the server ends it, after `seconds`. Throws on an ERROR event. */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    scope: ListScope & { readonly resourceVersion: string; readonly seconds: number },
    signal: AbortSignal,
  ): AsyncGenerator<SiteEvent<T>, void> {
    const path = `${pathOf(resource, scope)}${query({
      watch: "true",
      allowWatchBookmarks: "true",
      fieldSelector: scope.fieldSelector,
      resourceVersion: scope.resourceVersion,
      timeoutSeconds: String(scope.seconds),
    })}`;
    // A silent link never ends a request, so a time limit must.
    const late = (): Error => new Error(`watch ${path}: silent past its end`);
    const limit = deadline(this.#ambient.clock, scope.seconds * 1000 + this.#timeout, signal, late);
    try {
      const response = await this.#exchange(this.#request("GET", path, limit.signal));
      if (response.status !== 200) throw failure(`watch ${path}`, response.status, await textOf(response.body));
      for await (const line of linesOf(response.body)) yield eventOf<T>(path, line);
    } finally {
      limit.dispose();
    }
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string | undefined,
    object: NewObject,
    signal: AbortSignal,
  ): Promise<T> {
    return objectOf<T>(await this.#ask("POST", pathOf(resource, { namespace }), signal, { json: object }));
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectPlace,
    type: "merge" | "strategic",
    patch: object,
    signal: AbortSignal,
  ): Promise<T> {
    const contentType = type === "merge" ? "application/merge-patch+json" : "application/strategic-merge-patch+json";
    return objectOf<T>(await this.#ask("PATCH", pathOf(resource, at), signal, { json: patch, contentType }));
  }

  async delete(
    resource: Resource<KubeObject>,
    at: ObjectPlace,
    options: { readonly uid?: string; readonly resourceVersion?: string; readonly gracePeriodSeconds?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { gracePeriodSeconds, ...preconditions } = options;
    const json = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(Object.keys(preconditions).length > 0 && { preconditions }),
    };
    await this.#ask("DELETE", pathOf(resource, at), signal, { json });
  }

  /** Binds a pod to a board, as a scheduler does. */
  async bind(pods: Resource<KubeObject>, pod: KubeObject, node: string, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const json = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace, uid },
      target: { apiVersion: "v1", kind: "Node", name: node },
    };
    await this.#ask("POST", `${pathOf(pods, { namespace, name })}/binding`, signal, { json });
  }

  async #ask(
    method: SiteRequest["method"],
    path: string,
    signal: AbortSignal,
    body?: { readonly json: object; readonly contentType?: string },
  ): Promise<unknown> {
    const attempt = `${method} ${path}`;
    const limit = deadline(this.#ambient.clock, this.#timeout, signal, () => new Error(`${attempt}: no answer`));
    try {
      const response = await this.#exchange(this.#request(method, path, limit.signal, body));
      const text = await textOf(response.body);
      if (response.status >= 300) throw failure(attempt, response.status, text);
      return JSON.parse(text);
    } finally {
      limit.dispose();
    }
  }

  #request(
    method: SiteRequest["method"],
    path: string,
    signal: AbortSignal,
    body?: { readonly json: object; readonly contentType?: string },
  ): SiteRequest {
    const headers = { accept: "application/json", "user-agent": this.#userAgent };
    if (body === undefined) return { method, path, headers, signal };
    const contentType = body.contentType ?? "application/json";
    return {
      method,
      path,
      headers: { ...headers, "content-type": contentType },
      body: JSON.stringify(body.json),
      signal,
    };
  }
}

function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const deps = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return deps.length === 0 ? "" : `?${deps.join("&")}`;
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield line;
  }
}

function eventOf<T extends KubeObject>(path: string, line: string): SiteEvent<T> {
  const event: unknown = JSON.parse(line);
  if (!isRecord(event) || !isRecord(event.object)) throw unreadable(path);
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type: event.type, object: objectOf<T>(event.object) };
    case "BOOKMARK":
      return { type: "BOOKMARK", resourceVersion: positionOf(path, event.object) };
    default:
      throw failure(`watch ${path}`, Number(event.object.code) || 500, JSON.stringify(event.object));
  }
}

/** A bookmark's object has only a kind and a resourceVersion. */
function positionOf(path: string, object: Readonly<Record<string, unknown>>): string {
  if (!isRecord(object.metadata) || typeof object.metadata.resourceVersion !== "string") throw unreadable(path);
  return object.metadata.resourceVersion;
}

function objectOf<T extends KubeObject>(value: unknown): T {
  if (!isObject<T>(value)) throw new Error("the site API responded with something other than an object");
  return value;
}

/** Checks only the fields that every object must have; the API has validated the rest. */
function isObject<T extends KubeObject>(value: unknown): value is T {
  if (!isRecord(value) || !isRecord(value.metadata)) return false;
  const { name, uid, resourceVersion } = value.metadata;
  return typeof name === "string" && typeof uid === "string" && typeof resourceVersion === "string";
}

function failure(attempt: string, status: number, text: string): SiteError {
  try {
    const answer: unknown = JSON.parse(text);
    if (isRecord(answer)) return new SiteError(attempt, status, String(answer.reason), String(answer.message ?? ""));
  } catch {
    // The body is not a Status document, so its beginning is reported.
  }
  return new SiteError(attempt, status, "Unknown", text.slice(0, 200));
}

const unreadable = (path: string): Error => new Error(`GET ${path}: the response cannot be read`);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
