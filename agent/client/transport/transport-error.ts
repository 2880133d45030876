import type { HasDisposition } from "../../base/errors.ts";

export type TransportReason =
  | "ConnectionRefused"
  | "Reset"
  | "Timeout"
  | "Unreachable"
  | "UnknownHost"
  | "TLS"
  | "Proxy"
  | "Protocol";

/** The server could not be reached, or its response did not arrive completely. */
export class TransportError extends Error implements HasDisposition {
  override readonly name = "TransportError";
  readonly disposition = "retry";
  readonly reason: TransportReason;
  readonly hint: string | undefined;

  constructor(reason: TransportReason, message: string, more: { readonly hint?: string } = {}) {
    super(message);
    this.reason = reason;
    this.hint = more.hint;
  }
}

type Meaning = readonly [reason: TransportReason, sentence: string, hint?: string];

/**
 * No additional connection could be opened, so requests for which the open one has no room fail, and the others
 * continue.
 */
export class NoFurtherConnection extends TransportError {
  constructor({ reason, message, hint }: TransportError) {
    super(reason, `no additional connection: ${message}`, hint === undefined ? {} : { hint });
  }
}

export const isTimeout = (error: unknown): boolean => error instanceof TransportError && error.reason === "Timeout";

const anotherAuthority: Meaning = [
  "TLS",
  "its certificate is signed by an authority that this board does not trust",
  "Put the certificate authority of this API server in the kubeconfig (certificate-authority-data).",
];
const plainHttp: Meaning = [
  "TLS",
  "it does not speak TLS on this port",
  "Compare the port and the scheme of the server address in the kubeconfig.",
];
const ourCertificate: Meaning = [
  "TLS",
  "it does not accept our client certificate",
  "Issue a client certificate that this API server's client authority has signed, and put it in the kubeconfig.",
];

const meanings: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: ["ConnectionRefused", "the connection was refused"],
  ECONNRESET: ["Reset", "the connection was reset"],
  EPIPE: ["Reset", "the connection was closed"],
  ECONNABORTED: ["Reset", "the connection was aborted"],
  ERR_STREAM_PREMATURE_CLOSE: ["Reset", "the connection was closed in the middle of a response"],
  ERR_HTTP2_STREAM_CANCEL: ["Reset", "the connection was closed"],
  ERR_HTTP2_STREAM_ERROR: ["Reset", "the response was truncated"],
  ERR_HTTP2_SESSION_ERROR: ["Reset", "the connection was closed"],
  ERR_HTTP2_INVALID_SESSION: ["Reset", "the connection was closed"],
  ERR_HTTP2_GOAWAY_SESSION: ["Reset", "the connection is being closed"],
  Z_BUF_ERROR: ["Reset", "the compressed response was truncated"],
  ETIMEDOUT: ["Timeout", "the connection timed out"],
  EHOSTUNREACH: ["Unreachable", "it is unreachable from here"],
  ENETUNREACH: ["Unreachable", "its network is unreachable from here"],
  ENETDOWN: ["Unreachable", "the network is down"],
  EADDRNOTAVAIL: ["Unreachable", "there is no local address from which to reach it"],
  ENOTFOUND: [
    "UnknownHost",
    "its host name is unknown",
    "Check the server address in the kubeconfig and the name servers of this board.",
  ],
  EAI_AGAIN: ["UnknownHost", "no name server responds"],
  CERT_HAS_EXPIRED: [
    "TLS",
    "its certificate has expired",
    "Renew the certificate of the API server. If it is still valid, this board's clock is wrong.",
  ],
  CERT_NOT_YET_VALID: [
    "TLS",
    "its certificate is not yet valid",
    "This board's clock is behind: let it synchronise (timedatectl status).",
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "TLS",
    "its certificate does not cover this address",
    "Use an address that the certificate names, or set tls-server-name in the kubeconfig.",
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: anotherAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: anotherAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: anotherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: anotherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: anotherAuthority,
  CERT_SIGNATURE_FAILURE: anotherAuthority,
  ERR_SSL_WRONG_VERSION_NUMBER: plainHttp,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: plainHttp,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: ourCertificate,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: ourCertificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: ourCertificate,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: ourCertificate,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: ourCertificate,
};

/**
 * Converts an error of Node's network modules. `server`: its address, for the message. The original error is not kept
 * as a cause, because it would only repeat the message less clearly.
 */
export function transportErrorOf(error: unknown, server: string): TransportError {
  if (error instanceof TransportError) return error;
  const code = codeOf(error);
  const [reason, sentence, hint] = meanings[code] ?? guess(code, error);
  return new TransportError(reason, `${server}: ${sentence}`, hint === undefined ? {} : { hint });
}

function guess(code: string, error: unknown): Meaning {
  const message = error instanceof Error ? error.message : String(error);
  if (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") || code.startsWith("CERT_")) return ["TLS", message];
  if (code.startsWith("HPE_")) return ["Protocol", `its response is not HTTP (${message})`];
  if (code.startsWith("Z_")) return ["Protocol", `its compressed response cannot be read (${message})`];
  return ["Reset", message];
}

/** A host with several addresses fails with one error per address; the first one is used. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}
