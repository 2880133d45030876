import { PassThrough, type Readable, type Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Access } from "./credentials.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { transportErrorOf } from "./transport-error.ts";

/** A channel to one server that is open, or opens by itself: one HTTP/2 session, or a few HTTP/1.1 connections. */
export interface Wire {
  readonly access: Access;
  /** False once it takes no new requests. */
  readonly usable: boolean;
  /** True once all of its exchanges have ended. */
  readonly isOver: boolean;
  /** Sends one request. `limit` aborts it if the answer is late; the request's own signal ends the body too. */
  send(request: HttpRequest, headers: Readonly<Record<string, string>>, limit: AbortSignal): Promise<HttpResponse>;
  /** Takes no new requests; current ones run to their end. */
  retire(): void;
  /** Ends everything now. */
  close(): void;
}

export interface BodyParts {
  readonly gzip: boolean;
  readonly signal: AbortSignal;
  readonly server: string;
  /** Called for each chunk that arrives. */
  readonly heard: () => void;
  /** Called at the end; throws if the answer was broken off. */
  readonly whole: () => void;
}

/** In bytes. Each chunk costs a thread switch and a turn of the event loop, and is in memory until it is read. */
const unpacked = 64 * 1024;

/** The body of an answer, gunzipped. However the loop over it ends, stream and decompression are freed at once. */
export function bodyOf(source: Readable, parts: BodyParts): Pick<HttpResponse, "body" | "received"> {
  const gunzip = parts.gzip ? createGunzip({ chunkSize: unpacked }) : undefined;
  const reader = gunzip ?? new PassThrough();
  const over = poured(source, reader);
  const body = pieces(reader, over, { ...parts, source });
  return gunzip ? { body, received: () => gunzip.bytesWritten } : { body };
}

/**
 * Pipes all of `source`, and its errors, into `reader`. Neither `pipeline` nor the source's own iterator will do: an
 * HTTP/2 stream is `closed` as soon as both sides have ended, and they report it as broken off if that was before its
 * answer was delivered, although all of it is still to be read. Resolves when the source has ended.
 */
function poured(source: Readable, reader: Transform): Promise<void> {
  // Errors surface in the loop over the reader, if there is one.
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
  parts: BodyParts & { readonly source: Readable },
): AsyncGenerator<Uint8Array, void, void> {
  const { source, signal, server, heard, whole } = parts;
  try {
    for await (const piece of reader as AsyncIterable<Uint8Array>) {
      heard();
      yield piece;
    }
    // Only then is it known how the source ended.
    await over;
    signal.throwIfAborted();
    whole();
  } catch (error) {
    signal.throwIfAborted();
    throw transportErrorOf(error, server);
  } finally {
    reader.destroy();
    source.destroy();
  }
}

/** Headers in the form of the transport contract: lower case, one text each. */
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
