import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Pair } from "../../agent/client/certificates.ts";

/** An API server as a client sees it through another one's address: a proxy over HTTP/1.1 that may delay what passes. */
export abstract class ApiFront {
  readonly #target: string;
  readonly #server: https.Server;
  readonly #sockets = new Set<Duplex>();

  constructor(target: string, pair: Pair) {
    this.#target = target;
    this.#server = https.createServer({ ...pair, ALPNProtocols: ["http/1.1"] }, (request, response) => {
      this.forward(request, response, new URL(request.url ?? "/", target));
    });
    this.#server.on("secureConnection", (socket) => {
      this.#sockets.add(socket);
      this.connected(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    // It listens on TCP.
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.reset();
    await closed;
  }

  /** Called for each new connection. */
  protected connected(_socket: Duplex): void {}

  /** Called for each request, and passes it on. */
  protected abstract forward(request: IncomingMessage, response: ServerResponse, url: URL): void;

  /** Sends the request to the server. `answered` passes the body of the answer on. */
  protected pass(
    request: IncomingMessage,
    response: ServerResponse,
    answered: (answer: IncomingMessage) => void,
    more: Readonly<Record<string, string>> = {},
  ): void {
    const { "accept-encoding": _, ...headers } = request.headers;
    const url = new URL(request.url ?? "/", this.#target);
    const options = { method: request.method, headers: { ...headers, ...more }, rejectUnauthorized: false };
    const onward = https.request(url, options);
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.on("error", () => response.destroy());
      answered(answer);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }
}

export const isWatch = (url: URL): boolean => url.searchParams.get("watch") === "true";
