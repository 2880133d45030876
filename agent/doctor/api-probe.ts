import type { Ambient } from "../base/ambient.ts";
import { deadline, type Instant, type Millis } from "../base/clock.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import type { Access, Credentials } from "../client/credentials.ts";
import { HttpTransport } from "../client/http-transport.ts";
import { defaultHealth } from "../client/http2-wire.ts";
import type { ProxySettings } from "../client/proxy.ts";
import type { HttpRequest } from "../client/transport.ts";
import { TransportError } from "../client/transport-error.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** undefined if the answer is not a JSON object. */
  readonly body: JsonRecord | undefined;
}

/** The API server's first answer. */
export interface Greeting {
  readonly status: number;
  /** "v1.36.3"; undefined: not reported. */
  readonly version: string | undefined;
  /** The server's time from the Date header, in milliseconds since 1970, and when the answer arrived here. */
  readonly date: Millis | undefined;
  readonly at: Instant;
}

const patience: Millis = 10_000;
const longestAnswer = 4 * 2 ** 20;

/** Sends a few requests to the API server with the agent's credentials, over one connection. */
export class ApiProbe {
  readonly #ambient: Ambient;
  readonly #credentials: Credentials;
  readonly #transport: HttpTransport;
  readonly #signal: AbortSignal;
  #greeting: Promise<Greeting> | undefined;

  constructor(
    ambient: Ambient,
    parts: { readonly credentials: Credentials; readonly proxies: ProxySettings; readonly signal: AbortSignal },
  ) {
    this.#ambient = ambient;
    this.#credentials = parts.credentials;
    this.#signal = parts.signal;
    const { credentials, proxies } = parts;
    this.#transport = new HttpTransport(ambient, { credentials, proxies, health: defaultHealth, timeout: patience });
  }

  /** Throws a CredentialsError if there are no usable credentials. */
  access(): Promise<Access> {
    return this.#credentials.access();
  }

  /** Requested once and shared. Throws a TransportError or a CredentialsError. */
  greeting(): Promise<Greeting> {
    this.#greeting ??= this.#greet();
    return this.#greeting;
  }

  /** Throws a TransportError or a CredentialsError; every HTTP status is an answer. */
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
      // The doctor's requests change nothing, so repeat one whose connection was reset.
      return await this.#ask(method, path, body, { type, accept });
    }
  }

  async #ask(
    method: HttpRequest["method"],
    path: string,
    body: object | undefined,
    { type, accept }: { readonly type: string; readonly accept: string },
  ): Promise<ApiAnswer> {
    const late = (): Error => new TransportError("Timeout", `no answer within ${patience / 1000}s`);
    const limit = deadline(this.#ambient.clock, patience, this.#signal, late);
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
        if (length > longestAnswer) break;
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
