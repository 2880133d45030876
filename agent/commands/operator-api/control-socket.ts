import { lstatSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../../base/clock.ts";
import { jsonText } from "../../base/text/terminal-text.ts";
import { type ControlApiDeps, type Reply, reply } from "./control-api.ts";
import { type ControlRequest, RequestReader, responseHead } from "./http-request.ts";

/** Maximum number of concurrent requests, each counted from its first to its last byte; additional clients get 503. */
const maxRequests = 16;

/** Maximum number of connections; additional ones are closed without an answer. */
const maxConnections = 256;

/** Maximum time for a request to arrive completely. */
const patience: Millis = 10_000;

/**
 * At the limit of concurrent requests, a request that takes longer than this to arrive is dropped in favour of a new
 * one.
 */
const shortPatience: Millis = 1000;

/** Time allowed for pending answers on shutdown. */
const shutdownGrace: Millis = 1500;

/** Time allowed for a client to read its answer before the connection is closed. */
const lingerTime: Millis = 1000;

/** Interval between attempts to create the socket, and between checks that its file still exists. */
const retryPause: Millis = 30_000;

/** The control socket for operators on the board. Its failures never end the agent. */
export class ControlSocket {
  readonly name = "control socket";
  readonly #ambient: Ambient;
  readonly #file: string;
  readonly #deps: ControlApiDeps;
  readonly #open = new Set<Socket>();
  /** Sockets whose request has not arrived yet, oldest first. */
  readonly #arriving = new Map<Socket, Instant>();
  readonly #answering = new Set<Socket>();

  constructor(ambient: Ambient, { file, ...deps }: ControlApiDeps & { readonly file: string }) {
    this.#ambient = ambient;
    this.#file = file;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    let isLogged = false;
    while (!signal.aborted) {
      try {
        await this.#serve(signal);
      } catch (error) {
        if (!isLogged) log.warn("the control socket cannot be opened", { file: this.#file, error });
        isLogged = true;
        await sleep(clock, retryPause, signal);
      }
    }
  }

  /** Serves until the signal aborts or the socket's file is removed. Rejects if the socket cannot be opened. */
  async #serve(signal: AbortSignal): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket));
    server.maxConnections = maxConnections;
    await this.#listen(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      const end = (): void => {
        server.close(() => resolve());
        void this.#drain();
      };
      const reopen = (): void => {
        if (signal.aborted) return;
        signal.removeEventListener("abort", end);
        this.#ambient.log.warn("the control socket's file was removed; recreating it", { file: this.#file });
        // Open connections end by themselves.
        server.close();
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
      this.#untilFileRemoved(signal).then(reopen, reject);
    });
  }

  /** A server is not notified when its socket's file is removed, but clients can no longer find it. */
  async #untilFileRemoved(signal: AbortSignal): Promise<void> {
    const isThere = (): boolean => lstatSync(this.#file, { throwIfNoEntry: false }) !== undefined;
    while (!signal.aborted && isThere()) await sleep(this.#ambient.clock, retryPause, signal);
  }

  /** Lets pending answers finish; idle connections do not delay the shutdown. */
  async #drain(): Promise<void> {
    for (const socket of this.#open) if (!this.#answering.has(socket)) socket.destroy();
    const never = new AbortController();
    await sleep(this.#ambient.clock, shutdownGrace, never.signal);
    for (const socket of this.#open) socket.destroy();
  }

  /** Listens; replaces the socket file of a process that was killed. */
  async #listen(server: Server): Promise<void> {
    try {
      await listening(server, this.#file);
    } catch (error) {
      const isLeft = hasCode(error, "EADDRINUSE") && lstatSync(this.#file).isSocket();
      if (!isLeft || (await isAnswered(this.#file))) throw error;
      unlinkSync(this.#file);
      await listening(server, this.#file);
    }
  }

  #take(socket: Socket): void {
    const { clock, log } = this.#ambient;
    const reader = new RequestReader();
    const hasRoom = this.#hasRoom();
    this.#open.add(socket);
    if (hasRoom) this.#arriving.set(socket, clock.now());
    const timer = clock.after(patience, () => this.#turnAway(socket, tooSlow));
    socket.once("close", () => {
      timer.cancel();
      this.#open.delete(socket);
      this.#arriving.delete(socket);
      this.#answering.delete(socket);
    });
    // A client that disconnects while we write is not an error.
    socket.on("error", (error) => log.debug("a control connection broke", { error }));
    socket.on("end", () => !this.#answering.has(socket) && socket.end());
    // Data from rejected clients is read as well, because a client blocked on sending would not read the answer.
    socket.on("data", (chunk) => {
      if (!this.#arriving.has(socket)) return;
      const found = reader.push(chunk);
      if (!found) return;
      this.#arriving.delete(socket);
      this.#answering.add(socket);
      timer.cancel();
      if ("status" in found)
        void this.#answer(socket, { status: found.status, type: plain, text: `${found.message}\n` }, true);
      else void this.#handle(socket, found);
    });
    if (!hasRoom) this.#turnAway(socket, tooMany);
  }

  /** Whether a request may be served. If necessary, drops the slowest client if it exceeds `shortPatience`. */
  #hasRoom(): boolean {
    if (this.#arriving.size + this.#answering.size < maxRequests) return true;
    const [slowest] = this.#arriving;
    if (!slowest || elapsed(slowest[1], this.#ambient.clock.now()) < shortPatience) return false;
    this.#turnAway(slowest[0], tooSlow);
    return true;
  }

  #turnAway(socket: Socket, why: Reply): void {
    this.#arriving.delete(socket);
    void this.#answer(socket, why, true);
  }

  async #handle(socket: Socket, request: ControlRequest): Promise<void> {
    try {
      await this.#answer(socket, await reply(request, this.#deps), request.method !== "HEAD");
    } catch (error) {
      this.#ambient.log.error("a control request failed", { path: request.path, error });
      await this.#answer(socket, { status: 500, type: plain, text: "internal error; see the agent's log\n" }, true);
    }
  }

  async #answer(socket: Socket, answer: Reply, withBody: boolean): Promise<void> {
    if (socket.destroyed) return;
    await this.#send(socket, answer, withBody);
    // Closes a connection that the client keeps open.
    const timer = this.#ambient.clock.after(lingerTime, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  }

  async #send(socket: Socket, answer: Reply, withBody: boolean): Promise<void> {
    if ("lines" in answer) {
      socket.write(responseHead(answer.status, answer.type, undefined));
      for await (const line of answer.lines) if (!socket.destroyed) socket.write(`${jsonText(line)}\n`);
      socket.end();
      return;
    }
    const { status, type, text, headers } = answer;
    const head = responseHead(status, type, Buffer.byteLength(text), headers);
    socket.end(withBody ? head + text : head);
  }
}

const plain = "text/plain; charset=utf-8";

const tooSlow: Reply = { status: 408, type: plain, text: "too slow\n" };
const tooMany: Reply = {
  status: 503,
  type: plain,
  text: "too many concurrent requests\n",
  headers: ["Retry-After: 1"],
};

/** The umask restricts the socket to its user and group from its creation on. */
function listening(server: Server, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const before = process.umask(0o117);
    try {
      server.listen(file, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
}

/** Whether a process listens on the socket file. */
function isAnswered(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(file);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", (error) => resolve(!hasCode(error, "ECONNREFUSED") && !hasCode(error, "ENOENT")));
  });
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
