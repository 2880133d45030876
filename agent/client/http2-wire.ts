import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Duplex } from "node:stream";
import type { Clock, Millis } from "../base/clock.ts";
import type { Access } from "./credentials.ts";
import { IdleTimer } from "./idle-timer.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { TransportError, transportErrorOf } from "./transport-error.ts";
import { bodyOf, plainHeaders, type Wire } from "./wire.ts";

export interface HealthLimits {
  /** A connection with open requests that is silent for this long is checked with a PING. */
  readonly readIdle: Millis;
  /** Without a PING answer within this time the connection is closed. */
  readonly pingTimeout: Millis;
}

/** As in client-go 1.36: a link that drops everything is noticed after 45 s, before a term of leadership ends. */
export const defaultHealth: HealthLimits = { readIdle: 30_000, pingTimeout: 15_000 };

/** Receive windows in bytes: a round trip of two seconds must not limit a list to 32 KB/s. */
const streamWindow = 256 * 1024;
const connectionWindow = 1024 * 1024;

/** One HTTP/2 session over a connection that is up. */
export class Http2Wire implements Wire {
  readonly access: Access;
  readonly #clock: Clock;
  readonly #health: HealthLimits;
  readonly #session: ClientHttp2Session;
  readonly #idle: IdleTimer;
  readonly #waiting = new Set<() => void>();
  #streams = 0;
  #retired = false;
  #pinging = false;

  constructor(
    clock: Clock,
    parts: { readonly access: Access; readonly socket: Duplex; readonly health: HealthLimits },
  ) {
    this.#clock = clock;
    this.access = parts.access;
    this.#health = parts.health;
    this.#idle = new IdleTimer(clock, parts.health.readIdle, () => this.#ping());
    this.#session = connect(parts.access.server, {
      createConnection: () => parts.socket,
      settings: { enablePush: false, initialWindowSize: streamWindow },
    });
    this.#session.once("connect", (session) => session.setLocalWindowSize(connectionWindow));
    // Every stream fails with the same error or a consequence of it, so the session's own is redundant.
    this.#session.on("error", () => {});
    this.#session.on("goaway", () => this.retire());
    this.#session.once("close", () => {
      this.#idle.stop();
      this.#admit();
    });
  }

  get usable(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  get isOver(): boolean {
    return this.#session.destroyed;
  }

  async send(
    request: HttpRequest,
    headers: Readonly<Record<string, string>>,
    limit: AbortSignal,
  ): Promise<HttpResponse> {
    // Otherwise the library itself would hold the request back, long after its guard was called.
    while (this.#isFull && !limit.aborted) await this.#departure(limit);
    limit.throwIfAborted();
    const { origin, host, pathname } = this.access.server;
    if (this.#session.closed || this.#session.destroyed) {
      throw new TransportError("Reset", `${origin}: the connection was closed`);
    }
    // No await from here until the frames reach the socket: they leave in this turn of the event loop.
    request.guard?.();
    const stream = this.#session.request(
      {
        ...headers,
        ":method": request.method,
        ":path": `${pathname.replace(/\/$/, "")}${request.path}`,
        ":scheme": "https",
        ":authority": host,
      },
      { endStream: request.body === undefined },
    );
    if (request.body !== undefined) stream.end(request.body);
    this.#opened(stream);
    return this.#answer(stream, request.signal, limit);
  }

  retire(): void {
    this.#retired = true;
    this.#session.close();
  }

  close(): void {
    this.#retired = true;
    this.#session.destroy();
  }

  #answer(stream: ClientHttp2Stream, signal: AbortSignal, limit: AbortSignal): Promise<HttpResponse> {
    const server = this.access.server.origin;
    return new Promise((resolve, reject) => {
      const cancel = (reason: Error): void => {
        stream.close(constants.NGHTTP2_CANCEL);
        stream.destroy(reason);
      };
      const abort = (): void => cancel(signal.reason);
      const giveUp = (): void => {
        cancel(limit.reason);
        reject(limit.reason);
        // A timeout without a caller's abort: the link may be dropping everything, so check it now.
        if (!signal.aborted) this.#ping();
      };
      limit.addEventListener("abort", giveUp, { once: true });
      stream.once("response", (headers) => {
        this.#idle.touch();
        limit.removeEventListener("abort", giveUp);
        signal.addEventListener("abort", abort, { once: true });
        if (signal.aborted) abort();
        const { ":status": status, "content-encoding": encoding } = headers;
        const whole = (): void => {
          // A stream that is cut off ends like a complete one; only its code distinguishes them.
          if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
            throw new TransportError("Reset", `${server}: the answer was broken off`);
          }
        };
        const parts = { gzip: encoding === "gzip", signal, server, heard: () => this.#idle.touch(), whole };
        resolve({ status: Number(status), headers: plainHeaders(headers), ...bodyOf(stream, parts) });
      });
      // An error after the answer began also surfaces in its body.
      stream.on("error", (error) => reject(transportErrorOf(error, server)));
      stream.once("close", () => {
        limit.removeEventListener("abort", giveUp);
        signal.removeEventListener("abort", abort);
        reject(new TransportError("Reset", `${server}: the connection was closed before an answer came`));
      });
    });
  }

  /** True while the server permits no further stream. */
  get #isFull(): boolean {
    if (this.#session.destroyed) return false;
    return this.#streams >= (this.#session.remoteSettings?.maxConcurrentStreams ?? 100);
  }

  /** Resolves when a stream or the session has ended, or when `limit` aborts. */
  #departure(limit: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        this.#waiting.delete(go);
        limit.removeEventListener("abort", go);
        resolve();
      };
      this.#waiting.add(go);
      limit.addEventListener("abort", go, { once: true });
    });
  }

  #opened(stream: ClientHttp2Stream): void {
    const wasQuiet = this.#streams++ === 0 && this.#idle.isOver;
    if (wasQuiet) this.#ping();
    else this.#idle.start();
    stream.once("close", () => {
      if (--this.#streams === 0) this.#idle.stop();
      this.#admit();
    });
  }

  #admit(): void {
    for (const go of this.#waiting) go();
  }

  #ping(): void {
    if (this.#pinging || this.#session.destroyed) return;
    this.#pinging = true;
    this.#idle.stop();
    const timer = this.#clock.after(this.#health.pingTimeout, () => {
      const silence = `${this.access.server.origin}: the connection is dead, a ping was not answered`;
      this.#session.destroy(new TransportError("Timeout", silence));
    });
    this.#session.ping((error) => {
      timer.cancel();
      this.#pinging = false;
      if (error || this.#session.destroyed) return;
      this.#idle.touch();
      if (this.#streams > 0) this.#idle.start();
    });
  }
}
