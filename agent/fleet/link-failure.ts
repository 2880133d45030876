import { LinkError } from "./link.ts";

/** Reason codes of a CONNACK that refuses this board in particular (MQTT 5, 3.2.2.2; 4 and 5 are MQTT 3.1.1's). */
const turnedAway: ReadonlySet<number> = new Set([4, 5, 0x85, 0x86, 0x87, 0x8a, 0x8c]);
const otherProtocol: ReadonlySet<number> = new Set([1, 0x84]);
const takenOver = 0x8e;

const wordsOf: Readonly<Record<number, string>> = {
  4: "user name or password are wrong",
  5: "not authorized",
  128: "unspecified error",
  133: "client identifier not valid",
  134: "user name or password are wrong",
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

export const reasonOf = (code: number): string =>
  `${wordsOf[code] ?? "no reason that we know"} (0x${code.toString(16).padStart(2, "0")})`;

/** TLS errors about a certificate of either side. */
const certificateCode = /^(CERT_|ERR_TLS_CERT|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|ERR_OSSL_|EPROTO$)/;

/** Maps an error of the library or the socket before the connection was up. */
export function openingFailure(where: string, error: unknown): LinkError {
  const { code, message } = parts(error);
  if (typeof code === "number") {
    if (otherProtocol.has(code)) return olderProtocol(where);
    const kind = turnedAway.has(code) ? "refused" : "unreachable";
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

/** The broker closed without a CONNACK, as many do on an unknown protocol version. */
export const silentEnd = (where: string): LinkError =>
  new LinkError("unreachable", `the broker ${where} closed the connection before it answered`, {
    hint: "If this lasts: does it speak MQTT 5, is this its port for TLS, and is its max_packet_size 65536 or more?",
  });

/** Maps the end of an established connection: the broker's reason code, or the last error. */
export function endOf(where: string, error: unknown, disconnect: number | undefined): LinkError {
  if (disconnect === takenOver)
    return new LinkError("taken", `another client took over our session at the broker ${where}`);
  if (disconnect !== undefined) {
    const kind = turnedAway.has(disconnect) ? "refused" : "dismissed";
    return new LinkError(kind, `the broker ${where} ended the connection: ${reasonOf(disconnect)}`);
  }
  if (error instanceof LinkError) return error;
  if (error === undefined) return new LinkError("lost", `the connection to the broker ${where} ended`);
  const { code, message } = parts(error);
  // Network and TLS errors have string codes. All others come from the library, about malformed packets.
  return typeof code === "string"
    ? new LinkError("lost", `the connection to the broker ${where} ended: ${message}`)
    : new LinkError("protocol", `the broker ${where} does not keep to MQTT 5: ${message}`);
}

function parts(error: unknown): { readonly code: number | string | undefined; readonly message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: error === undefined ? "" : String(error) };
  const code =
    "code" in error && (typeof error.code === "number" || typeof error.code === "string") ? error.code : undefined;
  return { code, message: error.message };
}

const protocolHint = "The fleet's broker must speak MQTT 5: mosquitto from 1.6 on does, and many bridges do not.";
const clockHint = "Look at this board's clock first: certificates are compared with it.";
const certificateHint =
  "Compare mqtt.ca with the broker's certificate, and mqtt.certificate with what the broker trusts.";
