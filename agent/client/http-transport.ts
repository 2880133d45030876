import type { Socket } from "node:net";
import type { Ambient } from "../base/ambient.ts";
import { deadline, type Millis } from "../base/clock.ts";
import type { Access, Credentials } from "./credentials.ts";
import { Dialer, type LinkBytes } from "./dialer.ts";
import { Http1Wire } from "./http1-wire.ts";
import { type HealthLimits, Http2Wire } from "./http2-wire.ts";
import type { ProxySettings } from "./proxy.ts";
import type { HttpRequest, HttpResponse, Transport } from "./transport.ts";
import { TransportError } from "./transport-error.ts";
import type { Wire } from "./wire.ts";

export interface HttpTransportParts {
  readonly credentials: Credentials;
  /** HTTPS_PROXY and NO_PROXY; a proxy-url of the kubeconfig takes precedence. */
  readonly proxies: ProxySettings;
  readonly health: HealthLimits;
  /** Until a connection is up; and until an answer begins, unless the request sets its own. */
  readonly timeout: Millis;
}

/**
 * The Transport for a real API server. It keeps one connection: HTTP/2 over TLS, or HTTP/1.1 if the server speaks no
 * other or the address says http. It is opened with the first request and again after its loss, with credentials read
 * anew.
 */
export class HttpTransport {
  readonly #ambient: Ambient;
  readonly #parts: HttpTransportParts;
  readonly #dialer: Dialer;
  readonly #wires = new Set<Wire>();
  #wire: Wire | undefined;
  #opening: Promise<Wire> | undefined;

  constructor(ambient: Ambient, parts: HttpTransportParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#dialer = new Dialer(parts.proxies);
  }

  readonly send: Transport = async (request) => {
    const timeout = request.timeout ?? this.#parts.timeout;
    const seconds = Math.round(timeout / 1000);
    const limit = deadline(
      this.#ambient.clock,
      timeout,
      request.signal,
      () => new TransportError("Timeout", `no answer within ${seconds}s`),
    );
    try {
      return await this.#exchange(request, limit.signal);
    } finally {
      limit.dispose();
    }
  };

  /** All bytes on the link so far, overhead included. */
  bytes(): LinkBytes {
    return this.#dialer.bytes();
  }

  /** The next request opens a new connection, with credentials read anew. Exchanges under way continue. */
  renew(): void {
    if (this.#wire) this.#drop(this.#wire);
  }

  close(): void {
    for (const wire of this.#wires) wire.close();
    this.#wires.clear();
    this.#wire = undefined;
  }

  async #exchange(request: HttpRequest, limit: AbortSignal): Promise<HttpResponse> {
    let wire = await this.#inTime(this.#current(), limit);
    let authorization = await this.#inTime(wire.access.authorization(), limit);
    if (wire.access.outdated) {
      this.#drop(wire);
      wire = await this.#inTime(this.#current(), limit);
      authorization = await this.#inTime(wire.access.authorization(), limit);
    }
    const headers = authorization === undefined ? request.headers : { ...request.headers, authorization };
    const response = await wire.send(request, headers, limit);
    if (response.status === 401) {
      // An operator or a rotation may have replaced the credentials: the next request reads them again.
      wire.access.refused();
      this.#drop(wire);
    } else if (isDoubtful(response)) wire.access.doubted?.();
    return response;
  }

  /** On a timeout, blames the credential plugin if that took the time, not the link. */
  #inTime<T>(promise: Promise<T>, limit: AbortSignal): Promise<T> {
    return rejectOnAbort(promise, limit, () => {
      const isLate = limit.reason instanceof TransportError && limit.reason.reason === "Timeout";
      return (isLate ? this.#parts.credentials.waitsFor?.() : undefined) ?? limit.reason;
    });
  }

  #current(): Promise<Wire> {
    if (this.#wire?.usable) return Promise.resolve(this.#wire);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Shared by all callers that wait for it, so it has its own limit and outlives each of them. */
  async #open(): Promise<Wire> {
    for (const wire of this.#wires) if (wire.isOver) this.#wires.delete(wire);
    const access = await this.#parts.credentials.access();
    const wire = await this.#wireTo(access);
    this.#wires.add(wire);
    this.#wire = wire;
    return wire;
  }

  async #wireTo(access: Access): Promise<Wire> {
    const { log, clock } = this.#ambient;
    if (access.server.protocol === "http:") {
      return new Http1Wire({ access, first: undefined, dial: () => this.#dial(access, []) });
    }
    const socket = await this.#dial(access, ["h2", "http/1.1"]);
    const protocol = "alpnProtocol" in socket && socket.alpnProtocol === "h2" ? "HTTP/2" : "HTTP/1.1";
    log.debug("connected", { server: access.server.origin, protocol });
    return protocol === "HTTP/2"
      ? new Http2Wire(clock, { access, socket, health: this.#parts.health })
      : new Http1Wire({ access, first: socket, dial: () => this.#dial(access, ["http/1.1"]) });
  }

  async #dial(access: Access, protocols: readonly string[]): Promise<Socket> {
    const never = new AbortController().signal;
    const limit = deadline(
      this.#ambient.clock,
      this.#parts.timeout,
      never,
      () =>
        new TransportError("Timeout", `${access.server.origin}: no connection within ${this.#parts.timeout / 1000}s`),
    );
    try {
      return await this.#dialer.dial(access, protocols, limit.signal);
    } finally {
      limit.dispose();
    }
  }

  #drop(wire: Wire): void {
    wire.retire();
    if (this.#wire === wire) this.#wire = undefined;
  }
}

/**
 * Typical of a wrong address, or of a wrong user at the right one. An API server's own answers are JSON or protobuf.
 */
const isDoubtful = ({ status, headers }: HttpResponse): boolean =>
  status === 403 || status === 404 || !headers["content-type"]?.startsWith("application/");

/** The promise, or `reason` if the signal aborts first; a later outcome of the promise is ignored. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal, reason: () => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reason());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const done = (): void => signal.removeEventListener("abort", stop);
    promise.then(resolve, reject).finally(done);
  });
}
