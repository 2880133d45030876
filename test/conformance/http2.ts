import http2 from "node:http2";
import { isJsonObject, type JsonObject, textAt } from "../../agent/api/json.ts";
import { Answer } from "./answer.ts";
import type { Target } from "./target.ts";
import { NotChecked, Unmet } from "./unmet.ts";

interface Told {
  readonly type: string;
  readonly object: JsonObject;
}

/** One connection, negotiated with the server during the TLS handshake. Without TLS there is no negotiation. */
export async function overHttp2(target: Target): Promise<Http2Connection> {
  if (!target.server.startsWith("https:"))
    throw new NotChecked("HTTP/2 is negotiated in TLS, which this server does not have");
  const session = http2.connect(target.server, target.tls);
  await new Promise<void>((resolve, reject) => {
    session.once("connect", () => resolve());
    session.once("error", (error) => reject(new Unmet(`CONNECT ${target.server}`, "HTTP/2", error.message)));
  });
  return new Http2Connection(session, target);
}

export class Http2Connection {
  readonly #session: http2.ClientHttp2Session;
  readonly #target: Target;

  constructor(session: http2.ClientHttp2Session, target: Target) {
    this.#session = session;
    this.#target = target;
  }

  get(path: string): Promise<Answer> {
    const stream = this.#open(path);
    const request = `GET ${path} over HTTP/2`;
    let status = 0;
    let text = "";
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    return new Promise((resolve, reject) => {
      stream.on("end", () => resolve(new Answer(request, status, {}, text, text.length)));
      stream.on("error", (error) => reject(new Unmet(request, "an answer", error.message)));
    });
  }

  /** The first event of a watch. */
  lines(path: string): Promise<Told> {
    const stream = this.#open(path);
    let text = "";
    return new Promise((resolve, reject) => {
      const failed = (why: string): void => reject(new Unmet(`GET ${path} over HTTP/2`, "an event", why));
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (!text.includes("\n")) return;
        const value: unknown = JSON.parse(text.slice(0, text.indexOf("\n")));
        const object = isJsonObject(value) ? value.object : undefined;
        resolve({ type: isJsonObject(value) ? textAt(value, "type") : "", object: isJsonObject(object) ? object : {} });
      });
      stream.on("error", (error) => failed(error.message)).on("end", () => failed("the stream ended"));
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
    return Promise.resolve();
  }

  #open(path: string): http2.ClientHttp2Stream {
    const prefix = new URL(this.#target.server).pathname.replace(/\/$/, "");
    return this.#session.request({ ":path": prefix + path, accept: "application/json", ...this.#target.headers });
  }
}
