import { LinkError } from "./link.ts";

/**
 * CONNACK reason codes with which a broker refuses this board in particular (MQTT 5, 3.2.2.2; 4 and 5 are from MQTT
 * 3.1.1).
 */
const refusals: ReadonlySet<number> = new Set([4, 5, 0x85, 0x86, 0x87, 0x8a, 0x8c]);
const otherProtocol: ReadonlySet<number> = new Set([1, 0x84]);
const takenOver = 0x8e;

const wordsOf: Readonly<Record<number, string>> = {
  4: "user name or password is wrong",
  5: "not authorized",
  128: "unspecified error",
  133: "client identifier not valid",
  134: "user name or password is wrong",
  135: "not authorized",
  136: "server unavailable",
  137: "server busy",
  138: "banned",
  139: "server shutting down",
  140: "bad authentication method",
  141: "keep alive timeout",
  142: "session taken over",
  143: "topic filter invalid",
  144: "topic name invalid",
  149: "packet too large",
  151: "quota exceeded",
  153: "payload format invalid",
  159: "connection rate exceeded",
};

/** An MQTT reason code in words, with its number. */
export const reasonOf = (code: number): string =>
  `${wordsOf[code] ?? "unknown reason"} (0x${code.toString(16).padStart(2, "0")})`;

/** Codes of TLS errors about the certificate of either side. */
const certificateCode = /^(CERT_|ERR_TLS_CERT|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|ERR_OSSL_|EPROTO$)/;

/** The LinkError for an error that the MQTT library or the socket reported before the connection was up. */
export function openingFailure(where: string, error: unknown): LinkError {
  const { code, message } = parts(error);
  if (typeof code === "number") {
    if (otherProtocol.has(code)) return olderProtocol(where);
    const kind = refusals.has(code) ? "refused" : "unreachable";
    const hint = kind === "refused" ? { hint: "Compare the certificate's name with the broker's users and ACL." } : {};
    return new LinkError(kind, `the broker ${where} refused the connection: ${reasonOf(code)}`, hint);
  }
  if (code !== undefined && certificateCode.test(code)) {
    const hint = /NOT_YET_VALID|EXPIRED/.test(code) ? clockHint : certificateHint;
    return new LinkError("certificate", `TLS with the broker ${where} failed: ${message}`, { hint });
  }
  return new LinkError("unreachable", `the broker ${where} cannot be reached: ${message}`);
}

export const olderProtocol = (where: string): LinkError =>
  new LinkError("protocol", `the broker ${where} does not speak MQTT 5`, { hint: protocolHint });

/** The LinkError for a connection closed without a CONNACK, as many brokers do on an unknown protocol version. */
export const silentEnd = (where: string): LinkError =>
  new LinkError("unreachable", `the broker ${where} closed the connection without an answer`, {
    hint: "If this persists, check that the broker speaks MQTT 5, that this is its TLS port, and that its max_packet_size is 65000.",
  });

/** The LinkError for the end of an established connection: from the broker's reason code, or from the last error. */
export function endOf(where: string, error: unknown, disconnect: number | undefined): LinkError {
  if (disconnect === takenOver)
    return new LinkError("taken", `another client took over this board's session at the broker ${where}`);
  if (disconnect !== undefined) {
    const kind = refusals.has(disconnect) ? "refused" : "dismissed";
    return new LinkError(kind, `the broker ${where} ended the connection: ${reasonOf(disconnect)}`);
  }
  if (error instanceof LinkError) return error;
  if (error === undefined) return new LinkError("lost", `the connection to the broker ${where} ended`);
  const { code, message } = parts(error);
  // Network and TLS errors have string codes. All other errors come from the library and are about malformed packets.
  return typeof code === "string"
    ? new LinkError("lost", `the connection to the broker ${where} ended: ${message}`)
    : new LinkError("protocol", `the broker ${where} violates MQTT 5: ${message}`);
}

function parts(error: unknown): { readonly code: number | string | undefined; readonly message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: error === undefined ? "" : String(error) };
  const code =
    "code" in error && (typeof error.code === "number" || typeof error.code === "string") ? error.code : undefined;
  return { code, message: error.message };
}

const protocolHint = "The fleet's broker must speak MQTT 5: mosquitto 1.6 and newer do; many bridges do not.";
const clockHint = "Check this board's clock first, because certificates are valid only for a limited period.";
const certificateHint =
  "Check that mqtt.ca signed the broker's certificate, and that the broker trusts the authority of mqtt.certificate.";
