import { request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as secure, type TLSSocket } from "node:tls";
import type { Access } from "../credentials/credentials.ts";
import { hostOf, type ProxySettings, portOf, proxyFor } from "./proxy.ts";
import { TransportError, transportErrorOf } from "./transport-error.ts";

export interface LinkBytes {
  readonly up: number;
  readonly down: number;
}

/**
 * In milliseconds: how long to try one address of a host before the next. Node's default of 250 ms is shorter than a
 * round trip on a bad link, so no address would ever succeed there.
 */
const perAddress = 5000;
const keepAliveAfter = 30_000;

/** Opens connections to API servers, through a proxy if one is set, and counts the bytes on the link. */
export class Dialer {
  readonly #proxies: ProxySettings;
  readonly #open = new Set<Socket>();
  #up = 0;
  #down = 0;

  constructor(proxies: ProxySettings) {
    this.#proxies = proxies;
  }

  /** Bytes sent and received by all connections so far, including TLS and headers. */
  bytes(): LinkBytes {
    let { up, down } = { up: this.#up, down: this.#down };
    for (const socket of this.#open) {
      up += socket.bytesWritten;
      down += socket.bytesRead;
    }
    return { up, down };
  }

  /** Opens a connection and completes the TLS handshake. `protocols`: the offered application protocols (ALPN). */
  async dial(access: Access, protocols: readonly string[], signal: AbortSignal): Promise<Socket> {
    const { server } = access;
    const proxy = access.proxy ?? proxyFor(server, this.#proxies);
    let socket: Socket | undefined;
    try {
      socket = await this.#connect(proxy ?? server, signal);
      if (proxy !== undefined) {
        if (proxy.protocol === "https:") socket = await ready(toTls(socket, proxy), signal);
        await throughProxy(socket, proxy, server, signal);
      }
      return server.protocol === "https:" ? await ready(toServer(socket, access, protocols), signal) : socket;
    } catch (error) {
      socket?.destroy();
      if (signal.aborted) throw signal.reason;
      throw transportErrorOf(error, proxy === undefined ? server.origin : `${server.origin} by proxy ${proxy.host}`);
    }
  }

  async #connect(to: URL, signal: AbortSignal): Promise<Socket> {
    const socket = connect({
      host: hostOf(to),
      port: portOf(to),
      autoSelectFamilyAttemptTimeout: perAddress,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveAfter,
      noDelay: true,
    });
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#up += socket.bytesWritten;
      this.#down += socket.bytesRead;
    });
    return ready(socket, signal, "connect");
  }
}

function toServer(socket: Socket, { server, tls }: Access, protocols: readonly string[]): TLSSocket {
  const name = tls.serverName ?? hostOf(server);
  return secure({
    socket,
    // SNI does not allow IP addresses, but they are compared with the certificate.
    host: name,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ALPNProtocols: [...protocols],
    rejectUnauthorized: tls.verify,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.certificate === undefined ? {} : { cert: tls.certificate }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  });
}

function toTls(socket: Socket, proxy: URL): TLSSocket {
  const host = hostOf(proxy);
  return secure({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
}

/** Opens a tunnel through the proxy (CONNECT). */
function throughProxy(socket: Socket, proxy: URL, server: URL, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const authority = `${server.hostname}:${portOf(server)}`;
    const { username, password } = proxy;
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
    const asking = request({
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...(username === "" ? {} : { "proxy-authorization": `Basic ${login}` }) },
      createConnection: () => socket,
      signal,
    });
    const refuse = (status: number | undefined): void =>
      reject(
        new TransportError("Proxy", `proxy ${proxy.host} refuses to connect to ${authority} (HTTP ${status})`, {
          hint:
            status === 407
              ? "Put the proxy's user name and password into its URL."
              : "Permit it in the proxy's configuration.",
        }),
      );
    asking.once("connect", ({ statusCode }, _socket, head) => {
      if (statusCode !== 200) return refuse(statusCode);
      if (head.length > 0) socket.unshift(head);
      resolve();
    });
    asking.once("response", ({ statusCode }) => refuse(statusCode));
    asking.once("error", reject);
    asking.end();
  });
}

/** Resolves when the socket emits `event`. Destroys the socket on failure or abort. */
function ready<S extends Socket>(socket: S, signal: AbortSignal, event = "secureConnect"): Promise<S> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      socket.off(event, up);
      socket.off("error", down);
      socket.off("close", cut);
      signal.removeEventListener("abort", stop);
    };
    const up = (): void => {
      done();
      resolve(socket);
    };
    const down = (error: Error): void => {
      done();
      socket.destroy();
      reject(error);
    };
    const cut = (): void => down(Object.assign(new Error("closed while connecting"), { code: "ECONNRESET" }));
    const stop = (): void => down(signal.reason);
    // Without a handler, an error while the socket is unused would end the process. Later users notice that the socket
    // has ended.
    socket.on("error", () => {});
    socket.once(event, up);
    socket.once("error", down);
    socket.once("close", cut);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}
