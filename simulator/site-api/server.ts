import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createGzip } from "node:zlib";
import type { Clock, Millis } from "../../agent/base/clock.ts";
import type { Logger } from "../../agent/base/logger.ts";
import { mostBodyBytes } from "./document.ts";
import type { ApiRequest, ApiResponse } from "./exchange.ts";
import { tooLargeBody } from "./failure.ts";
import { isWatch } from "./pretty.ts";

/** As the kube-apiserver: what is smaller is not worth the work. */
const gzipFrom = 128 * 1024;
/** Who takes longer to read a list is cut off; a watch lasts as long as it wants. */
const longestAnswer: Millis = 60_000;
const idleConnection: Millis = 120_000;

type Handle = (request: ApiRequest) => Promise<ApiResponse>;

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly handle: Handle;
}

export interface Listening {
  readonly port: number;
  /** Ends every connection and frees the port. */
  close(): Promise<void>;
}

/** HTTP/1.1 around a handler: bodies read whole and bounded, answers sent as fast as they are taken. */
export function serve(parts: Parts, port: number, host: string): Promise<Listening> {
  const server = createServer((incoming, outgoing) => {
    exchange(parts, incoming, outgoing).catch((error: unknown) => {
      parts.log.debug("answer cut off", { path: incoming.url?.slice(0, 200), error });
      outgoing.destroy();
    });
  });
  // Longer than clients think between two requests: none finds its connection closed as it sends.
  server.keepAliveTimeout = idleConnection;
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve({ port: portOf(server), close: () => closed(server, sockets) });
    });
  });
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function closed(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}

async function exchange({ clock, handle }: Parts, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.on("error", () => gone.abort(new Error("the client went away")));
  outgoing.once("close", () => gone.abort(new Error("the client went away")));
  const body = await bodyOf(incoming);
  const path = incoming.url ?? "/";
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const request = { method: incoming.method ?? "GET", path, headers, signal: gone.signal };
  const response = body === undefined ? tooLargeBody(mostBodyBytes).response() : await handle({ ...request, body });
  const watches = isWatch(request);
  const timer = watches ? undefined : clock.after(longestAnswer, () => outgoing.destroy());
  try {
    await send(response, outgoing, gone.signal, !watches && /\bgzip\b/.test(headers["accept-encoding"] ?? ""));
  } finally {
    timer?.cancel();
  }
}

/** Undefined for a body that is too large: read to its end all the same, or the client would never see the answer. */
async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= mostBodyBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > mostBodyBytes) return undefined;
  const isBinary = /protobuf/.test(incoming.headers["content-type"] ?? "");
  return Buffer.concat(chunks).toString(isBinary ? "latin1" : "utf8");
}

async function send(
  response: ApiResponse,
  outgoing: ServerResponse,
  signal: AbortSignal,
  mayGzip: boolean,
): Promise<void> {
  const { status, headers, body } = response;
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  let sink: NodeJS.WritableStream | undefined;
  const begin = (gzip: boolean): NodeJS.WritableStream => {
    outgoing.writeHead(status, gzip ? { ...headers, "content-encoding": "gzip", vary: "accept-encoding" } : headers);
    outgoing.flushHeaders();
    if (!gzip) return outgoing;
    const compressed = createGzip({ level: 1 });
    compressed.pipe(outgoing);
    return compressed;
  };
  if (!mayGzip) sink = begin(false);
  for await (const chunk of body) {
    if (signal.aborted) return;
    if (sink === undefined) {
      held.push(chunk);
      heldBytes += chunk.byteLength;
      if (heldBytes < gzipFrom) continue;
      sink = begin(true);
      for (const one of held.splice(0)) sink.write(one);
    } else if (!sink.write(chunk)) await drained(sink, signal);
  }
  sink ??= begin(false);
  for (const one of held) sink.write(one);
  sink.end();
}

function drained(sink: NodeJS.WritableStream, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      sink.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) return resolve();
    sink.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
