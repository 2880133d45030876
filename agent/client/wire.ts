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

/** The body of an answer, with gzip undone. However the loop over it ends, stream and decompression are freed at once. */
export function bodyOf(source: Readable, parts: BodyParts): Pick<HttpResponse, "body" | "received"> {
  if (!parts.gzip) return { body: pieces(source, source, parts) };
  const gunzip = createGunzip();
  // What goes wrong with either stream comes out of the loop over the second one.
  pipeline(source, gunzip, () => {});
  return { body: pieces(gunzip, source, parts), received: () => gunzip.bytesWritten };
}

async function* pieces(
  reader: Readable,
  source: Readable,
  { signal, server, heard, whole }: BodyParts,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const piece of reader) {
      heard();
      yield piece;
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
