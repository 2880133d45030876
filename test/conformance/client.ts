import http from "node:http";
import https from "node:https";
import { gunzipSync } from "node:zlib";
import type { JsonValue } from "../../agent/api/json.ts";
import { Answer } from "./answer.ts";
import type { Target } from "./target.ts";
import { shown, Unmet } from "./unmet.ts";
import { WatchStream } from "./watch-stream.ts";

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface Asked {
  readonly query?: Query;
  /** A string is sent unchanged. */
  readonly body?: JsonValue | Uint8Array;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const longestAnswer = 30_000;

/** Plain HTTP/1.1 to one server, without a library that would correct requests or responses. */
export class Client {
  readonly target: Target;
  readonly #agent: http.Agent;

  constructor(target: Target) {
    this.target = target;
    const options = { keepAlive: true, maxSockets: 200 };
    this.#agent = target.server.startsWith("https:")
      ? new https.Agent({ ...options, ...target.tls })
      : new http.Agent(options);
  }

  close(): void {
    this.#agent.destroy();
  }

  ask(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const described = describe(method, path, asked);
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => reject(new Unmet(described, "an answer", error.message));
      const request = this.#request(method, path, asked, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", failed);
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          const packed = response.headers["content-encoding"] === "gzip";
          try {
            const text = (packed ? gunzipSync(bytes) : bytes).toString();
            resolve(new Answer(described, response.statusCode ?? 0, headersOf(response), text, bytes.length));
          } catch (error) {
            failed(error instanceof Error ? error : new Error(String(error)));
          }
        });
      });
      request.setTimeout(longestAnswer, () => request.destroy(new Error(`nothing for ${longestAnswer / 1000} s`)));
      request.on("error", failed).end();
    });
  }

  /** Opens a stream of events. Returns the answer if it is not a stream. */
  watch(path: string, query: Query, patience: number, accept = "application/json"): Promise<WatchStream | Answer> {
    const asked: Asked = { query: { watch: true, ...query }, headers: { accept } };
    const described = describe("GET", path, asked);
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => reject(new Unmet(described, "a stream of events", error.message));
      const request = this.#request("GET", path, asked, (response) => {
        // From now on the stream may be silent for any time.
        request.setTimeout(0);
        if (response.statusCode === 200) {
          request.off("error", failed).on("error", () => undefined);
          resolve(new WatchStream(described, response, () => request.destroy(), patience));
          return;
        }
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const bytes = Buffer.concat(chunks);
          resolve(new Answer(described, response.statusCode ?? 0, headersOf(response), bytes.toString(), bytes.length));
        });
      });
      request.setTimeout(longestAnswer, () => request.destroy(new Error(`nothing for ${longestAnswer / 1000} s`)));
      request.on("error", failed).end();
    });
  }

  #request(
    method: string,
    path: string,
    { query = {}, body, type, headers }: Asked,
    answered: (response: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const bytes = body === undefined ? undefined : bodyOf(body);
    const { request } = this.target.server.startsWith("https:") ? https : http;
    const sent = {
      accept: "application/json",
      ...(body !== undefined && { "content-type": type ?? "application/json" }),
      // Otherwise Node sends the body of a DELETE without its length, and servers read it as the next request.
      ...(bytes !== undefined && { "content-length": String(bytes.length) }),
      ...this.target.headers,
      ...headers,
    };
    const options = { method, headers: sent, agent: this.#agent };
    const sending = request(this.target.server + withQuery(path, query), options, answered);
    if (bytes !== undefined) sending.write(bytes);
    return sending;
  }
}

export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return search === "" ? path : `${path}?${search}`;
}

function describe(method: string, path: string, { query = {}, body, type, headers }: Asked): string {
  const line = `${method} ${withQuery(path, query)}`;
  const kind = type === undefined ? "" : ` (${type})`;
  const more = headers === undefined ? "" : ` ${JSON.stringify(headers)}`;
  return body === undefined
    ? line + more
    : `${line}${kind}${more} ${shown(body instanceof Uint8Array ? "bytes" : body, 600)}`;
}

function bodyOf(body: JsonValue | Uint8Array): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

const headersOf = ({ headers }: http.IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
