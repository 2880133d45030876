import { PassThrough, type Readable, type Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Access } from "./credentials.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { transportErrorOf } from "./transport-error.ts";

/** A way to one server that is open, or opens by itself: one HTTP/2 session, or a few HTTP/1.1 connections. */
export interface Wire {
  readonly access: Access;
  /** False once no new request may be given to it. */
  readonly usable: boolean;
  /** True once nothing of it runs any more. */
  readonly isOver: boolean;
  /** Sends one request. `limit` aborts what is not answered in time; the request's own signal ends the body too. */
  send(request: HttpRequest, headers: Readonly<Record<string, string>>, limit: AbortSignal): Promise<HttpResponse>;
  /** No new requests; those that run end by themselves. */
  retire(): void;
  /** Ends everything now. */
  close(): void;
}

export interface BodyParts {
  readonly gzip: boolean;
  readonly signal: AbortSignal;
  readonly server: string;
  /** Called for each piece that arrives. */
  readonly heard: () => void;
  /** Asked at the end: was that all, or was the answer broken off? Throws where it was. */
  readonly whole: () => void;
}

/** Each piece costs a way through a thread and a turn of the loop over it, and holds so much memory until it is read. */
const unpacked = 64 * 1024;

/** The body of an answer, with gzip undone. However the loop over it ends, stream and decompression are freed at once. */
export function bodyOf(source: Readable, parts: BodyParts): Pick<HttpResponse, "body" | "received"> {
  const gunzip = parts.gzip ? createGunzip({ chunkSize: unpacked }) : undefined;
  const reader = gunzip ?? new PassThrough();
  const over = poured(source, reader);
  const body = pieces(reader, over, { ...parts, source });
  return gunzip ? { body, received: () => gunzip.bytesWritten } : { body };
}

/**
 * Pours all of `source` into `reader`, and what goes wrong with it. Not `pipeline`, nor the source's own iterator: an HTTP/2
 * stream calls itself `closed` as soon as both sides have ended, and they take it for broken off where that was before its
 * answer was told, though all of it waits to be read. Resolves when nothing of the source runs any more.
 */
function poured(source: Readable, reader: Transform): Promise<void> {
  // It comes out of the loop over the reader, where there is one.
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
    // Only then it is known how the source ended.
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

/** Headers as the transport contract wants them: lower case, one text each. */
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
