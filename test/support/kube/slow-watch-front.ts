import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import type { Pair } from "../../agent/client/certificates.ts";

/**
 * An API server whose watches of Leases are late: their events come one by one, at least `pace` milliseconds apart, however
 * many wait. Everything else is answered at once.
 */
export class SlowWatchFront {
  readonly #target: string;
  readonly #server: https.Server;
  readonly #sockets = new Set<Duplex>();
  pace = 0;
  /** The number of events that wait. */
  waiting = 0;

  constructor(target: string, pair: Pair) {
    this.#target = target;
    this.#server = https.createServer({ ...pair, ALPNProtocols: ["http/1.1"] }, (request, response) => {
      this.#forward(request, response);
    });
    this.#server.on("secureConnection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    // It listens on TCP.
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.#target);
    const isSlow = url.pathname.endsWith("/leases") && url.searchParams.get("watch") === "true";
    const { "accept-encoding": _, ...headers } = request.headers;
    if (isSlow) headers.accept = "application/json";
    const onward = https.request(url, { method: request.method, headers, rejectUnauthorized: false });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.on("error", () => response.destroy());
      if (isSlow) this.#oneByOne(answer, response).catch(() => response.destroy());
      else answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }

  async #oneByOne(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    let last = Promise.resolve();
    for await (const line of createInterface({ input: answer })) {
      this.waiting++;
      last = last.then(async () => {
        await new Promise((resolve) => setTimeout(resolve, this.pace));
        this.waiting--;
        response.write(`${line}\n`);
      });
    }
    await last;
    response.end();
  }
}
