import type { Ambient } from "../base/ambient.ts";
import { deadline, type Instant, type Millis } from "../base/clock.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import type { Access, Credentials } from "../client/credentials/credentials.ts";
import { HttpTransport } from "../client/transport/http-transport.ts";
import { defaultHealth } from "../client/transport/http2-wire.ts";
import type { ProxySettings } from "../client/transport/proxy.ts";
import type { HttpRequest } from "../client/transport/transport.ts";
import { TransportError } from "../client/transport/transport-error.ts";

/** The API server's response to one request. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response; undefined if it is not a JSON object. */
  readonly body: JsonRecord | undefined;
}

/** The API server's response to a request for its version. */
export interface Greeting {
  /** The HTTP status. */
  readonly status: number;
  /** The server's version, for example "v1.36.3"; undefined if the response does not have it. */
  readonly version: string | undefined;
  /** The Date header, in milliseconds since 1970; undefined without one. */
  readonly date: Millis | undefined;
  /** When the response arrived. */
  readonly at: Instant;
}

const timeLimit: Millis = 10_000;
/** Maximum number of bytes read of a body; the rest is dropped. */
const maxAnswerLength = 4 * 2 ** 20;

/** Sends a few requests to the API server with the agent's credentials, over one connection. */
export class ApiProbe {
  readonly #ambient: Ambient;
  readonly #credentials: Credentials;
  readonly #transport: HttpTransport;
  readonly #signal: AbortSignal;
  #greeting: Promise<Greeting> | undefined;

  constructor(
    ambient: Ambient,
    deps: { readonly credentials: Credentials; readonly proxies: ProxySettings; readonly signal: AbortSignal },
  ) {
    this.#ambient = ambient;
    this.#credentials = deps.credentials;
    this.#signal = deps.signal;
    const { credentials, proxies } = deps;
    this.#transport = new HttpTransport(ambient, { credentials, proxies, health: defaultHealth, timeout: timeLimit });
  }

  /** The server and the credentials in use. Throws a CredentialsError if there are none. */
  access(): Promise<Access> {
    return this.#credentials.access();
  }

  /**
   * The response to a request for the version, which is sent at the first call and shared. Throws a TransportError or a
   * CredentialsError.
   */
  greeting(): Promise<Greeting> {
    this.#greeting ??= this.#greet();
    return this.#greeting;
  }

  /**
   * Sends a request and returns the response, regardless of its status. Throws a TransportError or a CredentialsError.
   */
  async ask(
    method: HttpRequest["method"],
    path: string,
    body?: object,
    type = "application/json",
    accept = "application/json",
  ): Promise<ApiAnswer> {
    try {
      return await this.#ask(method, path, body, { type, accept });
    } catch (error) {
      if (!(error instanceof TransportError) || error.reason !== "Reset") throw error;
      // The doctor only sends requests that change nothing, so a request whose connection was reset can be repeated.
      return await this.#ask(method, path, body, { type, accept });
    }
  }

  async #ask(
    method: HttpRequest["method"],
    path: string,
    body: object | undefined,
    { type, accept }: { readonly type: string; readonly accept: string },
  ): Promise<ApiAnswer> {
    const late = (): Error => new TransportError("Timeout", `no response within ${timeLimit / 1000}s`);
    const limit = deadline(this.#ambient.clock, timeLimit, this.#signal, late);
    try {
      const response = await this.#transport.send({
        method,
        path,
        headers: { accept, "content-type": type, "user-agent": "siteward-doctor" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: limit.signal,
      });
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of response.body) {
        chunks.push(chunk);
        length += chunk.length;
        if (length > maxAnswerLength) break;
      }
      return { status: response.status, headers: response.headers, body: parsed(Buffer.concat(chunks).toString()) };
    } finally {
      limit.dispose();
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #greet(): Promise<Greeting> {
    const { status, headers, body } = await this.ask("GET", "/version");
    const date = Date.parse(headers.date ?? "");
    return {
      status,
      version: typeof body?.gitVersion === "string" ? body.gitVersion : undefined,
      date: Number.isFinite(date) ? date : undefined,
      at: this.#ambient.clock.now(),
    };
  }
}

function parsed(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
