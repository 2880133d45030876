import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createGzip } from "node:zlib";
import type { Clock, Millis } from "../../agent/base/clock.ts";
import type { Logger } from "../../agent/base/logger.ts";
import { maxBodyBytes } from "./requests/document.ts";
import type { ApiRequest, ApiResponse } from "./requests/exchange.ts";
import { tooLargeBody } from "./requests/failure.ts";
import { isWatch } from "./requests/pretty.ts";

/** Bodies of at least this size are compressed, as in the kube-apiserver; for smaller ones it is not worthwhile. */
const gzipFrom = 128 * 1024;
/** A client that reads a list more slowly is disconnected; a watch may last as long as it requests. */
const maxAnswerTime: Millis = 60_000;
const idleConnection: Millis = 120_000;

type Handle = (request: ApiRequest) => Promise<ApiResponse>;

interface ServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly handle: Handle;
}

export interface Listening {
  readonly port: number;
  /** Ends every connection and frees the port. */
  close(): Promise<void>;
}

/**
 * HTTP/1.1 around a handler: bodies are read completely, up to a limit, and responses are sent at the client's pace.
 */
export function serve(deps: ServerDeps, port: number, host: string): Promise<Listening> {
  const server = createServer((incoming, outgoing) => {
    exchange(deps, incoming, outgoing).catch((error: unknown) => {
      deps.log.debug("response cut off", { path: incoming.url?.slice(0, 200), error });
      outgoing.destroy();
    });
  });
  // Longer than clients keep idle connections, so that no client finds its connection closed while sending.
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

async function exchange(
  { clock, handle }: ServerDeps,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("error", () => gone.abort(new Error("the client disconnected")));
  outgoing.once("close", () => gone.abort(new Error("the client disconnected")));
  const body = await bodyOf(incoming);
  const path = incoming.url ?? "/";
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const request = { method: incoming.method ?? "GET", path, headers, signal: gone.signal };
  const response = body === undefined ? tooLargeBody(maxBodyBytes).response() : await handle({ ...request, body });
  const watches = isWatch(request);
  const timer = watches ? undefined : clock.after(maxAnswerTime, () => outgoing.destroy());
  try {
    await send(response, outgoing, gone.signal, !watches && /\bgzip\b/.test(headers["accept-encoding"] ?? ""));
  } finally {
    timer?.cancel();
  }
}

/**
 * The body of a request. Undefined if it is too large; even then it is read to the end, because otherwise the client
 * would never see the response.
 */
async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > maxBodyBytes) return undefined;
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
