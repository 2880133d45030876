/** A request in the subset of HTTP/1.1 that curl and our own commands need: one request per connection. */
export interface ControlRequest {
  readonly method: string;
  /** The path, without the query, which is ignored. */
  readonly path: string;
  /** The headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

export interface HttpFault {
  readonly status: number;
  readonly message: string;
}

const maxHeadLength = 8 * 1024;
const maxBodyLength = 64 * 1024;
const maxHeaders = 64;

/** Grammar of a header name (RFC 9110). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const lineEnd = "\r\n";
const headEnd = Buffer.from("\r\n\r\n");

/**
 * Parses a request incrementally, and buffers no more than the longest valid request. Node's own HTTP server would cost
 * 3 MB of memory, too much for a socket that is used a few times a day.
 */
export class RequestReader {
  #bytes: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  #head: Omit<ControlRequest, "body"> | undefined;
  #bodyAt = 0;
  #bodyLength = 0;

  /** Adds received bytes; undefined if the request is not complete yet. */
  push(chunk: Uint8Array): ControlRequest | HttpFault | undefined {
    const from = Math.max(0, this.#bytes.length - headEnd.length);
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#head) {
      const end = this.#bytes.indexOf(headEnd, from);
      if ((end < 0 ? this.#bytes.length : end) > maxHeadLength)
        return { status: 431, message: "the request line and headers are too long" };
      if (end < 0) return undefined;
      const fault = this.#readHead(this.#bytes.toString("latin1", 0, end));
      if (fault) return fault;
      this.#bodyAt = end + headEnd.length;
    }
    const bodyEnd = this.#bodyAt + this.#bodyLength;
    if (!this.#head || this.#bytes.length < bodyEnd) return undefined;
    return { ...this.#head, body: this.#bytes.subarray(this.#bodyAt, bodyEnd) };
  }

  #readHead(text: string): HttpFault | undefined {
    const [first = "", ...lines] = text.split(lineEnd);
    const [, method, target] = /^([A-Z]{1,16}) (\/[\x21-\x7e]*) HTTP\/1\.[01]$/.exec(first) ?? [];
    if (method === undefined || target === undefined) return { status: 400, message: "not an HTTP/1.1 request" };
    if (lines.length > maxHeaders) return { status: 431, message: "too many headers" };
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(":");
      if (!token.test(line.slice(0, Math.max(0, colon))) || /[\r\n]/.test(line))
        return { status: 400, message: "a header cannot be read" };
      const [key, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      if (headers.has(key) && key === "content-length") return { status: 400, message: "more than one Content-Length" };
      headers.set(key, value);
    }
    const length = headers.get("content-length");
    if (headers.has("transfer-encoding")) return { status: 411, message: "Content-Length is required" };
    if (length !== undefined && !/^[0-9]{1,12}$/.test(length))
      return { status: 400, message: "Content-Length is not a number" };
    if (Number(length ?? 0) > maxBodyLength)
      return { status: 413, message: `the body is longer than ${maxBodyLength} bytes` };
    this.#bodyLength = Number(length ?? 0);
    this.#head = { method, path: target.replace(/[?#].*$/s, ""), headers };
    return undefined;
  }
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  411: "Length Required",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/**
 * The status line and headers. `length`: that of the body, in bytes; undefined if the body ends with the connection.
 */
export function responseHead(
  status: number,
  type: string,
  length: number | undefined,
  more: readonly string[] = [],
): string {
  return [
    `HTTP/1.1 ${status} ${reasons[status] ?? "Answer"}`,
    `Content-Type: ${type}`,
    ...(length === undefined ? [] : [`Content-Length: ${length}`]),
    ...more,
    "Connection: close",
    lineEnd,
  ].join(lineEnd);
}
