import { request as ask, type IncomingMessage, type RequestOptions, type ServerResponse } from "node:http";
import { request as askSafely, createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Pair } from "../../agent/client/certificates.ts";

export interface LateRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface LateAnswer {
  readonly status: number;
  readonly text: string;
}

/** A request that has left its sender but has not arrived. It is independent of the sender's connection. */
export interface Held extends LateRequest {
  /** Delivers it now and returns the server's answer. */
  deliver(): Promise<LateAnswer>;
}

interface Trap {
  readonly matches: (request: LateRequest) => boolean;
  readonly caught: (held: Held) => void;
}

/**
 * A proxy between one board and its API server, which speaks TLS on both sides and HTTP/1.1 only. It can hold back a
 * chosen request for as long as a test needs, and cut off its sender: the case that no fence covers, because the
 * request was sent while the term stood.
 */
export class LateLink {
  readonly #server: Server;
  readonly #target: URL;
  readonly #ca: string;
  readonly #near = new Set<Socket>();
  readonly #traps = new Set<Trap>();
  /** Requests whose answers come late, and by how many milliseconds. */
  #late: { readonly matches: Trap["matches"]; readonly by: number } | undefined;
  #isCut = false;

  constructor({ target, ca, pair }: { readonly target: string; readonly ca: string; readonly pair: Pair }) {
    this.#target = new URL(target);
    this.#ca = ca;
    this.#server = createServer({ ...pair, ALPNProtocols: ["http/1.1"] }, (near, answer) => {
      this.#forward(near, answer).catch(() => answer.destroy());
    });
    this.#server.on("connection", (socket: Socket) => {
      socket.on("error", () => undefined);
      if (this.#isCut) {
        socket.resetAndDestroy();
        return;
      }
      this.#near.add(socket);
      socket.on("close", () => this.#near.delete(socket));
    });
    this.#server.on("tlsClientError", () => undefined);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the link has no port");
    return `https://127.0.0.1:${address.port}`;
  }

  /** Holds the next request of this kind; the promise resolves once it is held. */
  hold(matches: Trap["matches"]): Promise<Held> {
    return new Promise((resolve) => {
      const trap: Trap = {
        matches,
        caught: (held) => {
          this.#traps.delete(trap);
          resolve(held);
        },
      };
      this.#traps.add(trap);
    });
  }

  /** From now on such requests arrive as ever, and their answers come late by so many milliseconds. */
  answerLate(matches: Trap["matches"], by: number): void {
    this.#late = { matches, by };
  }

  answerInTime(): void {
    this.#late = undefined;
  }

  /** Cuts the sender off from the server in both directions. Held requests stay held. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#near) socket.resetAndDestroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#near) socket.destroy();
    await closed;
  }

  async #forward(near: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await textOf(near);
    const request: LateRequest = { method: near.method ?? "", path: near.url ?? "", body };
    const trap = [...this.#traps].find(({ matches }) => matches(request));
    if (trap) {
      trap.caught({ ...request, deliver: () => this.#deliver(request, near) });
      return;
    }
    const late = this.#late?.matches(request) ? this.#late.by : 0;
    const far = await this.#send(request, near);
    answer.on("close", () => far.destroy());
    if (late > 0) await pause(late);
    answer.writeHead(far.statusCode ?? 502, far.headers);
    // A watch begins long before its first event.
    answer.flushHeaders();
    far.on("error", () => answer.destroy()).pipe(answer);
  }

  async #deliver(request: LateRequest, near: IncomingMessage): Promise<LateAnswer> {
    // Its sender has long given up.
    near.socket.destroy();
    const far = await this.#send(request, near);
    return { status: far.statusCode ?? 0, text: await textOf(far) };
  }

  #send({ method, path, body }: LateRequest, { headers }: IncomingMessage): Promise<IncomingMessage> {
    const { hostname, port, protocol, host } = this.#target;
    const options: RequestOptions = { hostname, port, method, path, headers: { ...headers, host } };
    return new Promise((resolve, reject) => {
      const sent = protocol === "https:" ? askSafely({ ...options, ca: this.#ca }, resolve) : ask(options, resolve);
      sent.on("error", reject).end(body);
    });
  }
}

async function textOf(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
