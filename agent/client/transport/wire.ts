import { PassThrough, type Readable, type Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Access } from "../credentials/credentials.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { transportErrorOf } from "./transport-error.ts";

/** A channel to one server: an open HTTP/2 session, or HTTP/1.1 connections that are opened as needed. */
export interface Wire {
  readonly access: Access;
  /** False once the wire does not accept new requests. */
  readonly usable: boolean;
  /** True if the server does not respond to requests over it, although the connection is alive. */
  readonly isMute: boolean;
  /** True if no exchange is in flight and none was recently. */
  readonly isIdle: boolean;
  /** True once the wire does not accept new requests and all of its exchanges have ended. */
  readonly isOver: boolean;
  /** Resolves once the server's limit of concurrent requests is known, or the wire has ended. */
  readonly settled: Promise<void>;
  /**
   * False if the request would have to wait until a watch ends, or if it is a watch and would leave other requests no
   * room.
   */
  hasCapacityFor(request: HttpRequest): boolean;
  /** Sends one request. `limit` aborts it until the headers arrive; the request's own signal also ends the body. */
  send(request: HttpRequest, headers: Readonly<Record<string, string>>, limit: AbortSignal): Promise<HttpResponse>;
  /** Stops accepting new requests; current ones are completed. */
  retire(): void;
  /** Aborts all exchanges. */
  close(): void;
}

export interface BodyOptions {
  readonly gzip: boolean;
  readonly signal: AbortSignal;
  readonly server: string;
  /** Called for each chunk that arrives. */
  readonly onChunk: () => void;
  /** Called at the end; throws if the response was truncated. */
  readonly checkEnd: () => void;
}

/** The size of unpacked chunks, in bytes. Small ones cost thread switches, large ones memory. */
const unpacked = 64 * 1024;

/** The decompressed body of a response. When the loop over it ends, for any reason, its resources are freed. */
export function bodyOf(source: Readable, options: BodyOptions): Pick<HttpResponse, "body" | "received"> {
  const gunzip = options.gzip ? createGunzip({ chunkSize: unpacked }) : undefined;
  const reader = gunzip ?? new PassThrough();
  const over = poured(source, reader);
  const body = pieces(reader, over, { ...options, source });
  return gunzip ? { body, received: () => gunzip.bytesWritten } : { body };
}

/**
 * Pipes `source`, including its errors, into `reader`. Resolves when the source has ended. `pipeline` and the source's
 * own iterator cannot be used, because an HTTP/2 stream may be `closed` before its data has been read, in which case
 * they would report a broken stream although all data has arrived.
 */
function poured(source: Readable, reader: Transform): Promise<void> {
  // The loop over the reader, if there is one, throws the errors.
  reader.on("error", () => {});
  source.on("error", (error) => reader.destroy(error));
  const over = new Promise<void>((resolve) => {
    source.once("close", () => {
      if (!source.readableEnded) reader.destroy(brokenOff());
      resolve();
    });
  });
  source.pipe(reader);
  return over;
}

const brokenOff = (): Error =>
  Object.assign(new Error("closed before its end"), { code: "ERR_STREAM_PREMATURE_CLOSE" });

async function* pieces(
  reader: Transform,
  over: Promise<void>,
  options: BodyOptions & { readonly source: Readable },
): AsyncGenerator<Uint8Array, void, void> {
  const { source, signal, server, onChunk, checkEnd } = options;
  try {
    for await (const piece of reader as AsyncIterable<Uint8Array>) {
      onChunk();
      yield piece;
    }
    // Only once the source has ended is it known whether it ended cleanly.
    await over;
    signal.throwIfAborted();
    checkEnd();
  } catch (error) {
    signal.throwIfAborted();
    throw transportErrorOf(error, server);
  } finally {
    reader.destroy();
    source.destroy();
  }
}

/** Headers in the form of `HttpResponse`: names in lower case, one string each. */
export function plainHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    plain[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ");
  }
  return plain;
}
