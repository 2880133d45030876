import { createServer as createHttp, type IncomingMessage } from "node:http";
import { createSecureServer, type Http2ServerRequest, type ServerHttp2Session } from "node:http2";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from "node:net";
import type { Pair } from "./certificates.ts";

export type Asked = IncomingMessage | Http2ServerRequest;

/** What the answers of Node's different servers have in common. */
export interface Answering {
  writeHead(status: number, headers?: Record<string, string>): unknown;
  write(piece: string | Buffer): unknown;
  end(): unknown;
  end(piece: string | Buffer): unknown;
  on(event: "close" | "error", listener: () => void): unknown;
}

export type Protocol = "HTTP/2" | "HTTPS/1.1" | "HTTP/1.1";

interface Options {
  readonly protocol: Protocol;
  readonly pair?: Pair | undefined;
  /** Of clients: who must show a certificate. */
  readonly clientAuthority?: string;
  readonly port?: number;
  readonly maxConcurrentStreams?: number;
  answer(asked: Asked, answering: Answering): void;
}

/** A server on a loopback port that counts its connections and can cut them. */
export class LoopbackServer {
  readonly sockets = new Set<Socket>();
  readonly sessions = new Set<ServerHttp2Session>();
  connections = 0;
  readonly #server: Server;
  readonly #scheme: string;

  private constructor(server: Server, scheme: string) {
    this.#server = server;
    this.#scheme = scheme;
    server.on("connection", (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.sockets.delete(socket));
    });
    server.on("session", (session: ServerHttp2Session) => {
      this.sessions.add(session);
      session.on("error", () => {});
    });
    server.on("tlsClientError", () => {});
  }

  static async start(options: Options): Promise<LoopbackServer> {
    const tls = {
      ...options.pair,
      ...(options.clientAuthority ? { ca: options.clientAuthority, requestCert: true } : {}),
    };
    const answer = (asked: Asked, answering: Answering): void => {
      answering.on("error", () => {});
      asked.on("error", () => {});
      options.answer(asked, answering);
    };
    const settings = { maxConcurrentStreams: options.maxConcurrentStreams ?? 100 };
    const server: Server =
      options.protocol === "HTTP/2"
        ? createSecureServer({ ...tls, settings }, answer)
        : options.protocol === "HTTPS/1.1"
          ? createHttps(tls, answer)
          : createHttp(answer);
    const local = new LoopbackServer(server, options.protocol === "HTTP/1.1" ? "http" : "https");
    await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
    return local;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  /** Cuts every connection, as a power failure does. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Cuts every further connection before it is up, until the returned function is called. */
  deafen(): () => void {
    const cut = (socket: Socket): void => void socket.destroy();
    this.#server.on("connection", cut);
    return () => this.#server.off("connection", cut);
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }
}

/** Carries bytes to another port, until it is frozen: then it swallows them and says nothing, like a dead radio link. */
export class Relay {
  frozen = false;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(port: () => number) {
    this.#server = createTcp((near) => {
      const far = connect(port(), "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on("data", (bytes) => this.frozen || to.write(bytes));
        from.on("error", () => {});
        from.on("close", () => this.frozen || to.destroy());
      }
    });
  }

  static async start(port: () => number): Promise<Relay> {
    const relay = new Relay(port);
    await new Promise<void>((resolve) => relay.#server.listen(0, "127.0.0.1", resolve));
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** Waits, in real time, for what sockets take their time for. */
export async function eventually(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries > 1000) throw new Error(`did not come true: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
