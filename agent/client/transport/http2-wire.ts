import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Duplex } from "node:stream";
import { type Clock, type Instant, isAfter, type Millis } from "../../base/clock.ts";
import type { Access } from "../credentials/credentials.ts";
import { IdleTimer } from "./idle-timer.ts";
import { type HttpRequest, type HttpResponse, isWatch } from "./transport.ts";
import { isTimeout, TransportError, transportErrorOf } from "./transport-error.ts";
import { bodyOf, plainHeaders, type Wire } from "./wire.ts";

export interface HealthLimits {
  /** A connection with open requests that is silent for this long is checked with a PING. */
  readonly readIdle: Millis;
  /** The connection is closed if the PING is not answered within this time. */
  readonly pingTimeout: Millis;
}

/** As in client-go 1.36. A dead connection is noticed after 45 s, before a term of leadership ends. */
export const defaultHealth: HealthLimits = { readIdle: 30_000, pingTimeout: 15_000 };

/** Receive windows in bytes. With the default of 64 KB, a round trip of two seconds would limit a list to 32 KB/s. */
const streamWindow = 256 * 1024;
const connectionWindow = 1024 * 1024;

/**
 * The share of a connection's streams that watches may take. The others are left for renewals, reads, lists and writes.
 */
const watchShare = 3 / 4;

/**
 * A server that still responds to PINGs counts as mute after this many requests in a row without a response. A single
 * unanswered request may be due to a gap in the link.
 */
const muteAfter = 2;

/** One HTTP/2 session over a connection that is up. */
export class Http2Wire implements Wire {
  readonly access: Access;
  readonly settled: Promise<void>;
  readonly #clock: Clock;
  readonly #health: HealthLimits;
  readonly #session: ClientHttp2Session;
  readonly #idle: IdleTimer;
  readonly #waiting = new Set<() => void>();
  #streams = 0;
  /** Watches that are open, or wait to be opened. */
  #watches = 0;
  #retired = false;
  #pinging = false;
  /** Requests abandoned since the last response. Requests that were in flight together count once. */
  #unanswered = 0;
  /** When the server last responded, or a request was last counted as unanswered. */
  #countedAt: Instant;
  #isMute = false;
  /** For each exchange without a response so far, a function that abandons it. */
  readonly #unheard = new Set<() => void>();

  constructor(clock: Clock, deps: { readonly access: Access; readonly socket: Duplex; readonly health: HealthLimits }) {
    this.#clock = clock;
    this.access = deps.access;
    this.#health = deps.health;
    this.#countedAt = clock.now();
    this.#idle = new IdleTimer(clock, deps.health.readIdle, () => this.#ping());
    this.#session = connect(deps.access.server, {
      createConnection: () => deps.socket,
      settings: { enablePush: false, initialWindowSize: streamWindow },
    });
    this.#session.once("connect", (session) => session.setLocalWindowSize(connectionWindow));
    // Ignored, because each stream fails with this error too.
    this.#session.on("error", () => {});
    this.#session.on("goaway", () => this.retire());
    this.#session.on("remoteSettings", () => this.#admit());
    this.settled = new Promise((resolve) => {
      this.#session.once("remoteSettings", () => resolve());
      this.#session.once("close", resolve);
    });
    this.#session.once("close", () => {
      this.#idle.stop();
      this.#admit();
    });
  }

  get usable(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  get isMute(): boolean {
    return this.#isMute;
  }

  get isIdle(): boolean {
    return this.#streams === 0 && this.#idle.isOver;
  }

  get isOver(): boolean {
    return this.#session.destroyed;
  }

  hasCapacityFor(request: HttpRequest): boolean {
    const limit = Math.max(1, this.#limit);
    return this.#watches < (isWatch(request) ? Math.max(1, Math.floor(limit * watchShare)) : limit);
  }

  async send(
    request: HttpRequest,
    headers: Readonly<Record<string, string>>,
    limit: AbortSignal,
  ): Promise<HttpResponse> {
    if (isWatch(request)) this.#watches++;
    const began = this.#clock.now();
    let stream: ClientHttp2Stream;
    try {
      // Waits here, because the library would queue the request after its guard was called.
      while (this.#isFull && !limit.aborted) await this.#departure(limit);
      limit.throwIfAborted();
      stream = this.#open(request, headers);
    } catch (error) {
      if (isWatch(request)) this.#watches--;
      if (isTimeout(limit.reason)) this.#notAnswered(began);
      throw error;
    }
    this.#opened(stream, request);
    return this.#answer(stream, { request, began, limit });
  }

  retire(): void {
    this.#retired = true;
    this.#session.close();
  }

  close(): void {
    this.#retired = true;
    // Destroyed with an error, so that truncated responses do not appear complete.
    this.#session.destroy(new TransportError("Reset", `${this.access.server.origin}: the connection was closed`));
  }

  /** Calls the guard and hands over the frames, which leave in this turn of the event loop. */
  #open(request: HttpRequest, headers: Readonly<Record<string, string>>): ClientHttp2Stream {
    const { origin, host, pathname } = this.access.server;
    if (this.#session.closed || this.#session.destroyed) {
      throw new TransportError("Reset", `${origin}: the connection was closed`);
    }
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
    return stream;
  }

  #answer(
    stream: ClientHttp2Stream,
    { request, began, limit }: { readonly request: HttpRequest; readonly began: Instant; readonly limit: AbortSignal },
  ): Promise<HttpResponse> {
    const server = this.access.server.origin;
    const { signal } = request;
    // A server that is waiting for its store may still open watches and send bookmarks from its cache alone, so these
    // do not show that it responds to requests.
    const arrived = isWatch(request) ? () => this.#idle.touch() : () => this.#answered();
    return new Promise((resolve, reject) => {
      const cancel = (reason: Error): void => {
        stream.close(constants.NGHTTP2_CANCEL);
        stream.destroy(reason);
      };
      const abort = (): void => cancel(signal.reason);
      const fail = (reason: Error): void => {
        cancel(reason);
        reject(reason);
      };
      const unheard = (): void => fail(new TransportError("Reset", `${server}: it does not respond to requests`));
      this.#unheard.add(unheard);
      const giveUp = (): void => {
        fail(limit.reason);
        // Unless the caller aborted, this is a timeout, and the connection may be dead, so check it now.
        if (!signal.aborted) this.#ping();
        if (isTimeout(limit.reason)) this.#notAnswered(began);
      };
      limit.addEventListener("abort", giveUp, { once: true });
      stream.once("response", (headers) => {
        arrived();
        this.#unheard.delete(unheard);
        limit.removeEventListener("abort", giveUp);
        signal.addEventListener("abort", abort, { once: true });
        if (signal.aborted) abort();
        const { ":status": status, "content-encoding": encoding } = headers;
        const checkEnd = (): void => {
          // A truncated stream ends like a complete one, except for its code.
          if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
            throw new TransportError("Reset", `${server}: the response was truncated`);
          }
        };
        const deps = { gzip: encoding === "gzip", signal, server, onChunk: arrived, checkEnd };
        resolve({ status: Number(status), headers: plainHeaders(headers), ...bodyOf(stream, deps) });
      });
      // After the headers this has no effect; the loop over the body throws the error.
      stream.on("error", (error) => reject(transportErrorOf(error, server)));
      stream.once("close", () => {
        this.#unheard.delete(unheard);
        limit.removeEventListener("abort", giveUp);
        signal.removeEventListener("abort", abort);
        reject(new TransportError("Reset", `${server}: the connection was closed before a response arrived`));
      });
    });
  }

  /** The server's limit of concurrent streams. */
  get #limit(): number {
    return this.#session.remoteSettings?.maxConcurrentStreams ?? 100;
  }

  get #isFull(): boolean {
    return !this.#session.destroyed && this.#streams >= this.#limit;
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

  #opened(stream: ClientHttp2Stream, request: HttpRequest): void {
    const wasQuiet = this.#streams++ === 0 && this.#idle.isOver;
    if (wasQuiet) this.#ping();
    else this.#idle.start();
    stream.once("close", () => {
      if (isWatch(request)) this.#watches--;
      if (--this.#streams === 0) this.#idle.stop();
      this.#admit();
    });
  }

  /** Part of a response arrived; over a slow link, others may wait behind it. */
  #answered(): void {
    this.#idle.touch();
    this.#countedAt = this.#clock.now();
    this.#unanswered = 0;
    this.#isMute = false;
  }

  #notAnswered(began: Instant): void {
    if (isAfter(this.#countedAt, began)) return;
    this.#countedAt = this.#clock.now();
    if (++this.#unanswered >= muteAfter) this.#ping();
  }

  /** Abandons the exchanges in flight, so that they are retried on another connection. Open watches continue. */
  #becomeMute(): void {
    if (this.#isMute) return;
    this.#isMute = true;
    for (const giveUp of [...this.#unheard]) giveUp();
  }

  #admit(): void {
    for (const go of this.#waiting) go();
  }

  #ping(): void {
    if (this.#pinging || this.#session.destroyed) return;
    this.#pinging = true;
    this.#idle.stop();
    const timer = this.#clock.after(this.#health.pingTimeout, () => {
      const silence = `${this.access.server.origin}: the connection is dead: a ping was not answered`;
      this.#session.destroy(new TransportError("Timeout", silence));
    });
    this.#session.ping((error) => {
      timer.cancel();
      this.#pinging = false;
      if (error || this.#session.destroyed) return;
      if (this.#unanswered >= muteAfter) this.#becomeMute();
      this.#idle.touch();
      if (this.#streams > 0) this.#idle.start();
    });
  }
}
