/** A request and its answer as plain values. The same shape as the agents' transport speaks, over HTTP or by a call. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query, beginning with "/". */
  readonly path: string;
  /** Names in lower case, or as the caller wrote them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text; where the content type says protobuf, each character is one byte. */
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leaving the loop early ends the exchange. A watch goes on until then, or until its time is over. */
  readonly body: AsyncIterable<Uint8Array>;
}

export const json = "application/json";
/** Headers are bounded; who sends much that is wrong is told of some of it. */
const mostWarnings = 16;
const longestWarning = 256;

export function response(status: number, text: string, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return streamed(status, [text], headers);
}

/** A header that kubectl shows as "Warning: ...", one for each text; none where there is no text. */
export function warnings(texts: readonly string[]): Readonly<Record<string, string>> {
  const shown = texts.slice(0, mostWarnings).map((text) => {
    const printable = text.slice(0, longestWarning).replace(/[^\x20-\x7e]/g, "?");
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
