/**
 * A request and its response as plain values, in the same form as in the agents' transport; over HTTP or by a function
 * call.
 */
export interface ApiRequest {
  readonly method: string;
  /** Path and query, beginning with "/". */
  readonly path: string;
  /** The names are in lower case, or as the caller wrote them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text; if the content type is protobuf, each character is one byte. */
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body's bytes. Leaving the loop early ends the exchange. A watch continues until then, or until its timeout. */
  readonly body: AsyncIterable<Uint8Array>;
}

export const json = "application/json";
/** Headers are limited in size, so a client that makes many mistakes gets only some of the warnings. */
const maxWarnings = 16;
const maxWarningLength = 256;

export function response(status: number, text: string, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return streamed(status, [text], headers);
}

/** A header that kubectl shows as "Warning: ...", one for each warning; no header if there are none. */
export function warnings(texts: readonly string[]): Readonly<Record<string, string>> {
  const shown = texts.slice(0, maxWarnings).map((text) => {
    const printable = text.slice(0, maxWarningLength).replace(/[^\x20-\x7e]/g, "?");
    return `299 - "${printable.replace(/["\\]/g, "\\$&")}"`;
  });
  return shown.length === 0 ? {} : { warning: shown.join(", ") };
}

export const jsonResponse = (status: number, value: object): ApiResponse => response(status, JSON.stringify(value));

export function streamed(
  status: number,
  parts: Iterable<string> | AsyncIterable<string>,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return {
    status,
    headers: { "content-type": json, "cache-control": "no-cache, private", ...headers },
    body: encoded(parts),
  };
}

async function* encoded(parts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const part of parts) yield encoder.encode(part);
}
