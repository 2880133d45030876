import { lstatSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../../base/clock.ts";
import { type ControlParts, type Reply, reply } from "./control-api.ts";
import { type HttpRequest, RequestReader, responseHead } from "./http-request.ts";

/** At a time, from the first byte to the last. Who comes beyond that is told to come again. */
const mostRequests = 16;

/** Who cannot even be told is not let in. */
const mostConnections = 256;

/** A request has this long to arrive. */
const patience: Millis = 10_000;

/** After that it makes room for one that may be quicker. */
const shortPatience: Millis = 1000;

/** What is being answered when the agent ends has this long. */
const partingTime: Millis = 1500;

const lingering: Millis = 1000;

/** A path is tried again this often: somebody may clean up a tmpfs, or make room in it. */
const retryPause: Millis = 30_000;

/** The socket for the operator on the board. Nothing of it ever ends the agent. */
export class ControlSocket {
  readonly name = "control socket";
  readonly #ambient: Ambient;
  readonly #file: string;
  readonly #parts: ControlParts;
  readonly #open = new Set<Socket>();
  /** Whose request is not there yet, in the order in which they came. */
  readonly #arriving = new Map<Socket, Instant>();
  readonly #answering = new Set<Socket>();

  constructor(ambient: Ambient, { file, ...parts }: ControlParts & { readonly file: string }) {
    this.#ambient = ambient;
    this.#file = file;
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    let isSaid = false;
    while (!signal.aborted) {
      try {
        await this.#serve(signal);
      } catch (error) {
        if (!isSaid) log.warn("the control socket cannot be opened", { file: this.#file, error });
        isSaid = true;
        await sleep(clock, retryPause, signal);
      }
    }
  }

  /** Until the signal aborts, or the file is gone. Rejects where no client can connect. */
  async #serve(signal: AbortSignal): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket));
    server.maxConnections = mostConnections;
    await this.#listen(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      const end = (): void => {
        server.close(() => resolve());
        void this.#part();
      };
      const makeAgain = (): void => {
        if (signal.aborted) return;
        signal.removeEventListener("abort", end);
        this.#ambient.log.warn("the control socket's file is gone and is made again", { file: this.#file });
        // Connections that are open end by themselves.
        server.close();
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
      this.#whileThere(signal).then(makeAgain, reject);
    });
  }

  /** A server whose file was removed goes on without an error, and no client finds it. */
  async #whileThere(signal: AbortSignal): Promise<void> {
    const isThere = (): boolean => lstatSync(this.#file, { throwIfNoEntry: false }) !== undefined;
    while (!signal.aborted && isThere()) await sleep(this.#ambient.clock, retryPause, signal);
  }

  /** Who asked gets the answer that may just be coming; who says nothing does not hold the agent up. */
  async #part(): Promise<void> {
    for (const socket of this.#open) if (!this.#answering.has(socket)) socket.destroy();
    const never = new AbortController();
    await sleep(this.#ambient.clock, partingTime, never.signal);
    for (const socket of this.#open) socket.destroy();
  }

  /** What a process left behind that was killed is in the way, and no more than that. */
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
    // Who goes away while we write is no fault of ours.
    socket.on("error", (error) => log.debug("a control connection broke", { error }));
    socket.on("end", () => !this.#answering.has(socket) && socket.end());
    // Also what is turned away is read: a client that cannot send would not hear why.
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

  /** Whoever lets us wait may keep others out for a moment, and no longer. */
  #hasRoom(): boolean {
    if (this.#arriving.size + this.#answering.size < mostRequests) return true;
    const [slowest] = this.#arriving;
    if (!slowest || elapsed(slowest[1], this.#ambient.clock.now()) < shortPatience) return false;
    this.#turnAway(slowest[0], tooSlow);
    return true;
  }

  #turnAway(socket: Socket, why: Reply): void {
    this.#arriving.delete(socket);
    void this.#answer(socket, why, true);
  }

  async #handle(socket: Socket, request: HttpRequest): Promise<void> {
    try {
      await this.#answer(socket, await reply(request, this.#parts), request.method !== "HEAD");
    } catch (error) {
      this.#ambient.log.error("a control request failed", { path: request.path, error });
      await this.#answer(
        socket,
        { status: 500, type: plain, text: "an error of the agent's own; see its log\n" },
        true,
      );
    }
  }

  async #answer(socket: Socket, answer: Reply, withBody: boolean): Promise<void> {
    if (socket.destroyed) return;
    await this.#say(socket, answer, withBody);
    // Who does not hang up is hung up on, but not before he could read what was said.
    const timer = this.#ambient.clock.after(lingering, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  }

  async #say(socket: Socket, answer: Reply, withBody: boolean): Promise<void> {
    if ("lines" in answer) {
      socket.write(responseHead(answer.status, answer.type, undefined));
      for await (const line of answer.lines) if (!socket.destroyed) socket.write(`${JSON.stringify(line)}\n`);
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
const tooMany: Reply = { status: 503, type: plain, text: "too many ask at once\n", headers: ["Retry-After: 1"] };

/** For its user and its group from the first moment on: the mode is given where the file is made. */
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

/** Whether a process listens there. */
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
