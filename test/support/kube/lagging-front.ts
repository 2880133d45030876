import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Pair } from "../../agent/client/certificates.ts";
import { ApiFront, isWatch } from "./api-front.ts";

/**
 * Two API servers behind one address, one of which lags: every other connection reaches a server whose watch cache is
 * behind. Its watches are late, and it cannot list at a version that its cache has not reached. Reads from the store,
 * such as GETs, are current.
 */
export class LaggingFront extends ApiFront {
  readonly #lag: number;
  readonly #lagging = new WeakSet<Duplex>();
  readonly #seen: { readonly at: number; readonly revision: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #connections = 0;
  /** How many watches the lagging server has served. */
  laggingWatches = 0;

  constructor(target: string, pair: Pair, { lag, revision }: { lag: number; revision: () => Promise<number> }) {
    super(target, pair);
    this.#lag = lag;
    this.#timer = setInterval(() => {
      revision().then(
        (newest) => this.#seen.push({ at: performance.now(), revision: newest }),
        () => undefined,
      );
    }, 500);
  }

  override async close(): Promise<void> {
    clearInterval(this.#timer);
    await super.close();
  }

  protected override connected(socket: Duplex): void {
    if (this.#connections++ % 2 === 1) this.#lagging.add(socket);
  }

  protected forward(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const lags = this.#lagging.has(request.socket);
    if (lags && isWatch(url)) this.laggingWatches++;
    if (lags && url.searchParams.get("resourceVersionMatch") === "NotOlderThan") {
      const wanted = Number(url.searchParams.get("resourceVersion"));
      if (wanted > this.#cached) {
        tooLarge(response);
        return;
      }
    }
    this.pass(request, response, (answer) => {
      const delay = lags && isWatch(url) ? this.#lag : 0;
      const later = (act: () => void): void => void (delay === 0 ? act() : setTimeout(act, delay));
      answer.on("data", (chunk: Buffer) => later(() => response.write(chunk)));
      answer.on("end", () => later(() => response.end()));
    });
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
