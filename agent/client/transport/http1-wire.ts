import { Agent, type ClientRequestArgs, type IncomingMessage, request as open } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Access } from "../credentials/credentials.ts";
import { hostOf, portOf } from "./proxy.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { transportErrorOf } from "./transport-error.ts";
import { bodyOf, plainHeaders, type Wire } from "./wire.ts";

/** Maximum number of idle connections to keep. Each watch occupies one connection; short requests share the others. */
const spares = 2;

/** HTTP/1.1 with keep-alive connections; for plain HTTP, and for TLS servers without HTTP/2. */
export class Http1Wire implements Wire {
  readonly access: Access;
  /** An exchange without a response closes its connection, and the next exchange opens another. */
  readonly isMute = false;
  readonly settled = Promise.resolve();
  readonly #agent: DialingAgent;
  #retired = false;

  constructor(deps: {
    readonly access: Access;
    /** A connection that is already up, for the first request. */
    readonly first: Socket | undefined;
    readonly dial: () => Promise<Socket>;
  }) {
    this.access = deps.access;
    let first = deps.first;
    this.#agent = new DialingAgent(async () => {
      const socket = first;
      first = undefined;
      if (socket !== undefined && !socket.destroyed) return socket;
      try {
        return await deps.dial();
      } catch (error) {
        // After a failure to connect, the next attempt reads the credentials again.
        this.retire();
        throw error;
      }
    });
  }

  get usable(): boolean {
    return !this.#retired;
  }

  get isIdle(): boolean {
    return Object.keys(this.#agent.sockets).length === 0;
  }

  get isOver(): boolean {
    return this.#retired && this.isIdle;
  }

  /** Always true, because each exchange has its own connection. */
  hasCapacityFor(): boolean {
    return true;
  }

  send(request: HttpRequest, headers: Readonly<Record<string, string>>, limit: AbortSignal): Promise<HttpResponse> {
    const { server } = this.access;
    const { signal } = request;
    return new Promise((resolve, reject) => {
      const outgoing = open({
        agent: this.#agent,
        host: hostOf(server),
        port: portOf(server),
        method: request.method,
        path: `${server.pathname.replace(/\/$/, "")}${request.path}`,
        headers: { ...headers, ...framing(request), host: server.host },
      });
      const giveUp = (): void => {
        outgoing.destroy();
        reject(limit.reason);
      };
      limit.addEventListener("abort", giveUp, { once: true });
      outgoing.once("socket", () => {
        // The socket is connected, so the request is sent in this turn of the event loop.
        try {
          request.guard?.();
        } catch (error) {
          outgoing.destroy();
          return reject(error);
        }
        outgoing.end(request.body);
      });
      outgoing.once("response", (incoming) => {
        limit.removeEventListener("abort", giveUp);
        resolve(answerOf(incoming, signal, server.origin));
      });
      outgoing.on("error", (error) => reject(transportErrorOf(error, server.origin)));
      outgoing.once("close", () => limit.removeEventListener("abort", giveUp));
    });
  }

  retire(): void {
    this.#retired = true;
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  close(): void {
    this.#retired = true;
    this.#agent.destroy();
  }
}

/**
 * Sets the body's length explicitly, because Node omits it for DELETE, so the server would mistake the body for the
 * next request.
 */
const framing = ({ body }: HttpRequest): Readonly<Record<string, string>> =>
  body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };

/** Node's connection pool, with connections opened by `dial`. */
class DialingAgent extends Agent {
  readonly #dial: () => Promise<Socket>;

  constructor(dial: () => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: spares, scheduling: "lifo" });
    this.#dial = dial;
  }

  override createConnection(
    _options: ClientRequestArgs,
    done?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | null | undefined {
    this.#dial().then(
      (socket) => done?.(null, socket),
      // The declared type requires a socket even with an error; Node ignores it.
      (error: Error) => (done as ((error: Error) => void) | undefined)?.(error),
    );
    return undefined;
  }
}

function answerOf(incoming: IncomingMessage, signal: AbortSignal, server: string): HttpResponse {
  const abort = (): void => {
    incoming.destroy(signal.reason);
  };
  signal.addEventListener("abort", abort, { once: true });
  incoming.once("close", () => signal.removeEventListener("abort", abort));
  // Errors are thrown by the loop over the body; later ones concern no caller.
  incoming.on("error", () => {});
  if (signal.aborted) abort();
  const gzip = incoming.headers["content-encoding"] === "gzip";
  const nothing = (): void => {};
  return {
    status: incoming.statusCode ?? 0,
    headers: plainHeaders(incoming.headers),
    ...bodyOf(incoming, { gzip, signal, server, onChunk: nothing, checkEnd: nothing }),
  };
}
