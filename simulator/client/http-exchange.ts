import { Agent, type IncomingMessage, request as open } from "node:http";
import type { SiteExchange, SiteRequest, SiteResponse } from "./exchange.ts";

/** Requests over HTTP/1.1 to a loopback port, with keep-alive. `close` ends idle connections. */
export class HttpExchange {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 4 });

  constructor(port: number) {
    this.#port = port;
  }

  readonly exchange: SiteExchange = (request) =>
    new Promise<SiteResponse>((resolve, reject) => {
      const outgoing = open(
        {
          host: "127.0.0.1",
          port: this.#port,
          agent: this.#agent,
          method: request.method,
          path: request.path,
          headers: headersOf(request),
          signal: request.signal,
        },
        (incoming: IncomingMessage) => resolve({ status: incoming.statusCode ?? 0, body: incoming }),
      );
      outgoing.on("error", reject);
      outgoing.end(request.body);
    });

  close(): void {
    this.#agent.destroy();
  }
}

const headersOf = ({ headers, body }: SiteRequest): Record<string, string> =>
  body === undefined ? { ...headers } : { ...headers, "content-length": String(Buffer.byteLength(body)) };
