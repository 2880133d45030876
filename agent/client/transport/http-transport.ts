import type { Socket } from "node:net";
import type { Ambient } from "../../base/ambient.ts";
import { deadline, type Millis } from "../../base/clock.ts";
import type { Access, Credentials } from "../credentials/credentials.ts";
import { DialPace } from "./dial-pace.ts";
import { Dialer, type LinkBytes } from "./dialer.ts";
import { Http1Wire } from "./http1-wire.ts";
import { type HealthLimits, Http2Wire } from "./http2-wire.ts";
import type { ProxySettings } from "./proxy.ts";
import { type HttpRequest, type HttpResponse, isWatch, type Transport } from "./transport.ts";
import { isTimeout, type NoFurtherConnection, TransportError } from "./transport-error.ts";
import type { Wire } from "./wire.ts";

export interface HttpTransportDeps {
  readonly credentials: Credentials;
  /** HTTPS_PROXY and NO_PROXY; a proxy-url of the kubeconfig takes precedence. */
  readonly proxies: ProxySettings;
  readonly health: HealthLimits;
  /** Limit for opening a connection, and for the headers of a response unless the request sets its own timeout. */
  readonly timeout: Millis;
}

/**
 * The Transport for a real API server: HTTP/2 over TLS, or HTTP/1.1 if the server does not support HTTP/2 or the
 * address begins with http. The connection is opened with the first request, and reopened after a loss; the credentials
 * are read each time.
 *
 * If watches use up an HTTP/2 connection's streams, another connection is opened in addition to it. At any time, all
 * new requests use the same one, as if it had replaced the others, because behind a load balancer, two connections may
 * reach different API servers, and a read of the site's Lease must reach the server on which new watches begin.
 *
 * A wire whose server hangs (it responds to PINGs but not to requests) is abandoned for another, because a working
 * server may be behind the same address. Its watches continue until they end or their readers abandon them.
 */
export class HttpTransport {
  readonly #ambient: Ambient;
  readonly #deps: HttpTransportDeps;
  readonly #dialer: Dialer;
  /** All open wires. Retired ones do not accept new requests, but finish those in flight. */
  readonly #wires = new Set<Wire>();
  /** The wire that carried the last request. */
  #wire: Wire | undefined;
  #opening: Promise<Wire> | undefined;
  /**
   * The pace of dials that replace mute wires. Such a dial counts as unsuccessful until its wire carries a response.
   */
  readonly #escapes: DialPace;
  /** The pace of dials made because every working wire is full. */
  readonly #additions: DialPace;

  constructor(ambient: Ambient, deps: HttpTransportDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#dialer = new Dialer(deps.proxies);
    this.#escapes = new DialPace(ambient.clock);
    this.#additions = new DialPace(ambient.clock);
  }

  readonly send: Transport = async (request) => {
    const timeout = request.timeout ?? this.#deps.timeout;
    const seconds = Math.round(timeout / 1000);
    const limit = deadline(
      this.#ambient.clock,
      timeout,
      request.signal,
      () => new TransportError("Timeout", `no response within ${seconds}s`),
    );
    try {
      return await this.#exchange(request, limit.signal);
    } finally {
      limit.dispose();
    }
  };

  /** All bytes on the link so far, including TLS and headers. */
  bytes(): LinkBytes {
    return this.#dialer.bytes();
  }

  /**
   * Makes the next request read the credentials again and open a new connection. Exchanges in flight continue, unless
   * the new connection is to another address, which may belong to another cluster.
   */
  renew(): void {
    for (const wire of this.#wires) wire.retire();
  }

  close(): void {
    for (const wire of this.#wires) wire.close();
    this.#wires.clear();
    this.#wire = undefined;
  }

  async #exchange(request: HttpRequest, limit: AbortSignal): Promise<HttpResponse> {
    let [wire, authorization] = await this.#authorized(request, limit);
    // Watches that waited at the same time may have taken the wire's last room. No await is allowed between this and
    // `send`.
    while (wire.usable && !wire.hasCapacityFor(request)) [wire, authorization] = await this.#authorized(request, limit);
    const headers = authorization === undefined ? request.headers : { ...request.headers, authorization };
    const response = await wire.send(request, headers, limit);
    if (!isWatch(request)) this.#escapes.worked();
    if (response.status === 401) {
      // An operator or a rotation may have replaced the credentials, so the next request reads them again.
      wire.access.refused();
      this.#drop(wire);
    } else if (isDoubtful(response)) wire.access.doubted?.();
    return response;
  }

  /** A wire for the request, and its `authorization` header. */
  async #authorized(
    request: HttpRequest,
    limit: AbortSignal,
  ): Promise<readonly [wire: Wire, authorization: string | undefined]> {
    let wire = await this.#inTime(this.#wireFor(request), limit);
    let authorization = await this.#inTime(wire.access.authorization(), limit);
    if (wire.access.outdated) {
      this.#drop(wire);
      wire = await this.#inTime(this.#wireFor(request), limit);
      authorization = await this.#inTime(wire.access.authorization(), limit);
    }
    if (isWatch(request)) await this.#inTime(wire.settled, limit);
    return [wire, authorization];
  }

  /** The promise, or an error when `limit` aborts. If a credential plugin caused a timeout, the error says so. */
  #inTime<T>(promise: Promise<T>, limit: AbortSignal): Promise<T> {
    return rejectOnAbort(promise, limit, () => {
      return (isTimeout(limit.reason) ? this.#deps.credentials.waitsFor?.() : undefined) ?? limit.reason;
    });
  }

  /** Stays with one wire as long as it works and has room, then switches to another or opens one. */
  #wireFor(request: HttpRequest): Promise<Wire> {
    const withRoom = this.#usable.filter((wire) => wire.hasCapacityFor(request));
    const answering = withRoom.filter(({ isMute }) => !isMute);
    const refusal = this.#refusal;
    // During the pause after an unsuccessful dial, a mute wire is used, because the server may have begun to respond.
    const wire = answering.find((one) => one === this.#wire) ?? answering[0] ?? (refusal && withRoom[0]);
    if (wire !== undefined) {
      this.#turnTo(wire);
      return Promise.resolve(wire);
    }
    if (refusal) return Promise.reject(refusal);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  get #usable(): readonly Wire[] {
    return [...this.#wires].filter(({ usable }) => usable);
  }

  /**
   * Why no dial is allowed now. Without a usable wire, dials are always allowed, and callers wait for one in progress.
   */
  get #refusal(): NoFurtherConnection | undefined {
    if (this.#opening || this.#usable.length === 0) return undefined;
    return (this.#usable.every(({ isMute }) => isMute) ? this.#escapes : this.#additions).refusal;
  }

  /** All callers wait for the same opening, so it has its own time limit, and no caller can abort it. */
  async #open(): Promise<Wire> {
    // All usable wires have the same credentials, so that they become outdated together.
    const [mute] = this.#usable;
    const beside = this.#usable.find(({ isMute }) => !isMute);
    if (mute && !beside) this.#escapes.vain(notAnswering(mute));
    const wire = await (beside ? this.#addition(beside) : this.#wireTo(await this.#deps.credentials.access()));
    if (beside?.usable === false) {
      // The credentials may have been replaced in the meantime.
      wire.close();
      return this.#open();
    }
    const { origin } = wire.access.server;
    for (const other of this.#wires) if (other.access.server.origin !== origin) other.close();
    this.#wires.add(wire);
    this.#turnTo(wire);
    return wire;
  }

  /** Another wire, with the credentials of a working one. */
  async #addition({ access }: Wire): Promise<Wire> {
    const { log } = this.#ambient;
    try {
      const wire = await this.#wireTo(access);
      if (this.#additions.isVain) log.info("additional connection opened", { server: access.server.origin });
      this.#additions.worked();
      return wire;
    } catch (error) {
      // The files may have changed since the other wires were opened.
      access.doubted?.();
      if (!(error instanceof TransportError)) throw error;
      const { message: reason, hint } = error;
      if (!this.#additions.isVain) log.warn("additional connection not opened", { reason, hint });
      throw this.#additions.vain(error);
    }
  }

  #turnTo(wire: Wire): void {
    this.#wire = wire;
    for (const other of this.#wires) {
      if (other.isOver) this.#wires.delete(other);
      else if (other !== wire && (other.isIdle || other.isMute)) other.retire();
    }
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
      ? new Http2Wire(clock, { access, socket, health: this.#deps.health })
      : new Http1Wire({ access, first: socket, dial: () => this.#dial(access, ["http/1.1"]) });
  }

  async #dial(access: Access, protocols: readonly string[]): Promise<Socket> {
    const never = new AbortController().signal;
    const limit = deadline(
      this.#ambient.clock,
      this.#deps.timeout,
      never,
      () =>
        new TransportError("Timeout", `${access.server.origin}: no connection within ${this.#deps.timeout / 1000}s`),
    );
    try {
      return await this.#dialer.dial(access, protocols, limit.signal);
    } finally {
      limit.dispose();
    }
  }

  /** Reads the credentials again for the next request, unless that was done since this wire was opened. */
  #drop(wire: Wire): void {
    if (wire.usable) this.renew();
  }
}

const notAnswering = ({ access }: Wire): TransportError =>
  new TransportError("Timeout", `${access.server.origin}: it does not respond to requests`);

/** Whether a response suggests a wrong address or user. An API server's own responses are JSON or protobuf. */
const isDoubtful = ({ status, headers }: HttpResponse): boolean =>
  status === 403 || status === 404 || !headers["content-type"]?.startsWith("application/");

/** Settles like the promise, or rejects with `reason` if the signal aborts first. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal, reason: () => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reason());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const done = (): void => signal.removeEventListener("abort", stop);
    promise.then(resolve, reject).finally(done);
  });
}
