import type { Millis } from "../../base/clock.ts";

/**
 * One HTTP exchange as plain values (constructing the global Request and Response alone costs 17 MB). The real
 * transports speak HTTPS or plain HTTP; tests call the embedded API's handler directly.
 */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, beginning with "/". */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /**
   * Called synchronously, immediately before the request's first byte is handed to the socket, after any wait for a
   * connection. Throws if the request may no longer be sent (fencing); the exchange then fails with that error.
   */
  readonly guard?: () => void;
  /** Limit for the response's headers; default: the transport's own. The body is limited only by `signal`. */
  readonly timeout?: Millis;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body (gunzipped). Leaving the loop early ends the exchange. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Bytes of the body received over the link so far. Present if the body was compressed. */
  readonly received?: () => number;
}

/**
 * Whether a request is a watch, whose response lasts for minutes; every other response is sent as soon as the server
 * has it.
 */
export const isWatch = ({ path }: Pick<HttpRequest, "path">): boolean => /[?&]watch=/.test(path);
