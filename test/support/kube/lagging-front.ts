import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Pair } from "../../agent/client/certificates.ts";

/**
 * Two API servers behind one address, one of which lags: every other connection reaches a server whose watch cache is
 * behind. Its watches are late, and it cannot list at a version that its cache has not reached. Reads from the store,
 * such as GETs, are current.
 */
export class LaggingFront {
  readonly #target: string;
  readonly #lag: number;
  readonly #server: https.Server;
  readonly #sockets = new Set<Duplex>();
  readonly #lagging = new WeakSet<Duplex>();
  readonly #seen: { readonly at: number; readonly revision: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #connections = 0;
  /** How many watches the lagging server has served. */
  laggingWatches = 0;

  constructor(target: string, pair: Pair, { lag, revision }: { lag: number; revision: () => Promise<number> }) {
    this.#target = target;
    this.#lag = lag;
    this.#server = https.createServer({ ...pair, ALPNProtocols: ["http/1.1"] }, (request, response) => {
      void this.#forward(request, response);
    });
    this.#server.on("secureConnection", (socket) => {
      this.#sockets.add(socket);
      if (this.#connections++ % 2 === 1) this.#lagging.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
    this.#timer = setInterval(() => {
      revision().then(
        (newest) => this.#seen.push({ at: performance.now(), revision: newest }),
        () => undefined,
      );
    }, 500);
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
    clearInterval(this.#timer);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.reset();
    await closed;
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const lags = this.#lagging.has(request.socket);
    const url = new URL(request.url ?? "/", this.#target);
    const isWatch = url.searchParams.get("watch") === "true";
    if (lags && isWatch) this.laggingWatches++;
    if (lags && url.searchParams.get("resourceVersionMatch") === "NotOlderThan") {
      const wanted = Number(url.searchParams.get("resourceVersion"));
      if (wanted > this.#cached) return tooLarge(response);
    }
    const { "accept-encoding": _, ...headers } = request.headers;
    const onward = https.request(url, { method: request.method, headers, rejectUnauthorized: false });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      const delay = lags && isWatch ? this.#lag : 0;
      const later = (act: () => void): void => void (delay === 0 ? act() : setTimeout(act, delay));
      answer.on("data", (chunk: Buffer) => later(() => response.write(chunk)));
      answer.on("end", () => later(() => response.end()));
      answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }

  get #cached(): number {
    const then = performance.now() - this.#lag;
    return this.#seen.findLast(({ at }) => at <= then)?.revision ?? 0;
  }
}

function tooLarge(response: ServerResponse): void {
  const cause = { reason: "ResourceVersionTooLarge", message: "Too large resource version" };
  response.writeHead(504, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason: "Timeout",
      message: "Timeout: Too large resource version",
      details: { causes: [cause], retryAfterSeconds: 1 },
      code: 504,
    }),
  );
}
