import { isJsonObject, type JsonObject, type JsonValue, textAt } from "../../../agent/api/json.ts";
import type { ApiRequest, ApiResponse } from "../../../simulator/site-api/requests/exchange.ts";
import type { Handle } from "../embedded-server.ts";
import type { Event } from "../watch-stream.ts";

/** A server with one fault. */
export interface Mutant {
  /** The fault, as a predicate. */
  readonly does: string;
  /** The rules that must detect it, each alone. */
  readonly breaks: readonly string[];
  readonly made: (handle: Handle) => Handle;
  /** Its HTTP layer is faulty too, because the fault would not show otherwise. */
  readonly plainHttp?: boolean;
}

/** A parsed request. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly isWatch: boolean;
  /** The body, if it is a JSON object. */
  readonly body: JsonObject;
  readonly type: string;
}

export function asked({ method, path, headers, body = "" }: ApiRequest): Asked {
  const [place = "", search = ""] = path.split("?");
  const query = new URLSearchParams(search);
  const sent = parsed(body);
  const isWatch = query.get("watch") === "true";
  return {
    method,
    path: place,
    query,
    isWatch,
    body: isJsonObject(sent) ? sent : {},
    type: headers["content-type"] ?? "",
  };
}

/** A mutant that changes requests: it ignores something in them. */
export const hears =
  (
    change: (
      asked: Asked,
    ) => { readonly query?: Query; readonly body?: JsonValue; readonly headers?: Headers } | undefined,
  ): Mutant["made"] =>
  (handle) =>
  (request) => {
    const one = asked(request);
    const changed = change(one);
    if (changed === undefined) return handle(request);
    const query = new URLSearchParams([...one.query].filter(([name]) => changed.query?.[name] === undefined));
    for (const [name, value] of Object.entries(changed.query ?? {})) if (value !== "") query.set(name, value);
    const path = query.size === 0 ? one.path : `${one.path}?${query}`;
    const body = changed.body === undefined ? {} : { body: JSON.stringify(changed.body) };
    return handle({ ...request, path, ...body, headers: { ...request.headers, ...changed.headers } });
  };

/** "" omits the parameter. */
type Query = Readonly<Record<string, string>>;
type Headers = Readonly<Record<string, string>>;

/** A mutant that replaces answers other than streams; undefined keeps the answer. */
export const says =
  (change: (body: JsonObject, asked: Asked, status: number) => Said | undefined): Mutant["made"] =>
  (handle) =>
  async (request) => {
    const one = asked(request);
    const response = await handle(request);
    if (one.isWatch || !isJson(response)) return response;
    const text = await textOf(response);
    const body = parsed(text);
    const said = isJsonObject(body) ? change(body, one, response.status) : undefined;
    if (said === undefined) return { ...response, body: sent([text]) };
    const headers = { ...response.headers, ...said.headers };
    return { status: said.status ?? response.status, headers, body: sent([JSON.stringify(said.body ?? body)]) };
  };

interface Said {
  readonly status?: number;
  readonly body?: JsonObject;
  readonly headers?: Headers;
}

/** A mutant that changes streams of events. */
export const tells =
  (change: (events: AsyncIterable<Event>, asked: Asked) => AsyncIterable<Event>): Mutant["made"] =>
  (handle) =>
  async (request) => {
    const one = asked(request);
    const response = await handle(request);
    if (!one.isWatch || response.status !== 200) return response;
    return { ...response, body: sent(linesOf(change(eventsIn(response), one))) };
  };

/** Replaces each event by none, one or several; `i` counts the events of this watch without bookmarks. */
export const each = (change: (event: Event, i: number) => readonly Event[]): Mutant["made"] =>
  tells(async function* (events) {
    let i = 0;
    for await (const event of events) yield* change(event, event.type === "BOOKMARK" ? i : i++);
  });

/** A mutant that sends its own requests to the server. */
export const meddles = (
  change: (handle: Handle, request: ApiRequest, asked: Asked) => Promise<ApiResponse>,
): Mutant["made"] => {
  return (handle) => (request) => change(handle, request, asked(request));
};

async function* eventsIn({ body }: ApiResponse): AsyncGenerator<Event, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const value = parsed(line);
      const object = isJsonObject(value) ? value.object : undefined;
      yield { type: textAt(value, "type"), object: isJsonObject(object) ? object : {} };
    }
  }
}

async function* linesOf(events: AsyncIterable<Event>): AsyncGenerator<string, void> {
  for await (const event of events) yield `${JSON.stringify(event)}\n`;
}

export async function* sent(parts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const part of parts) yield encoder.encode(part);
}

export async function textOf({ body }: ApiResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

const isJson = ({ headers }: ApiResponse): boolean => headers["content-type"]?.startsWith("application/json") ?? false;

export function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

export const isSuccess = (status: number): boolean => status < 300;

/** A document with changed metadata; one without metadata stays. */
export const withMetadata = (body: JsonObject, change: (metadata: JsonObject) => JsonObject): JsonObject => {
  const { metadata } = body;
  return isJsonObject(metadata) ? { ...body, metadata: change(metadata) } : body;
};
