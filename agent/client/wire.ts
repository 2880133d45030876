import { pipeline, type Readable } from "node:stream";
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
  if (!parts.gzip) return { body: pieces(source, source, parts) };
  const gunzip = createGunzip({ chunkSize: unpacked });
  // What goes wrong with either stream comes out of the loop over the second one.
  pipeline(source, gunzip, () => {});
  return { body: pieces(gunzip, source, parts), received: () => gunzip.bytesWritten };
}

/**
 * Reading begins at once, though perhaps nobody asks for the first piece for a while: Node takes an HTTP/2 stream for broken
 * off where one begins to read it after it has ended.
 */
function pieces(reader: Readable, source: Readable, parts: BodyParts): AsyncGenerator<Uint8Array, void, void> {
  const iterator: AsyncIterator<Uint8Array> = reader[Symbol.asyncIterator]();
  const first = iterator.next();
  // It comes out of the loop over the body, where there is one.
  first.catch(() => {});
  return piecesFrom(first, iterator, { ...parts, reader, source });
}

async function* piecesFrom(
  first: Promise<IteratorResult<Uint8Array>>,
  iterator: AsyncIterator<Uint8Array>,
  parts: BodyParts & { readonly reader: Readable; readonly source: Readable },
): AsyncGenerator<Uint8Array, void, void> {
  const { reader, source, signal, server, heard, whole } = parts;
  try {
    for (let next = await first; !next.done; next = await iterator.next()) {
      heard();
      yield next.value;
    }
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
