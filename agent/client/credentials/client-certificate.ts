import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Instant } from "../../base/clock.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import { CredentialsError } from "./credentials-error.ts";

/**
 * Throws CredentialsError if the certificate has expired by this board's clock, or does not match the key. The server
 * would respond only with "Unauthorized".
 */
export function checkClientCertificate(where: string, certificate: string, key: string, now: Instant): void {
  const x509 = certificateOf(where, "client certificate", certificate);
  const end = Date.parse(x509.validTo);
  if (end < now.wall) {
    throw new CredentialsError(
      `${where}: the client certificate expired on ${isoTime(end).slice(0, 16)}Z`,
      "Issue a new client certificate. If it should be valid, this board's clock is wrong.",
    );
  }
  if (!x509.checkPrivateKey(keyOf(where, key))) {
    throw new CredentialsError(
      `${where}: the client key does not belong to the client certificate`,
      "Copy both from the same place.",
    );
  }
}

export function certificateOf(where: string, what: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new CredentialsError(`${where}: the ${what} is not a PEM certificate`, "Copy the whole file again.", {
      cause: error,
    });
  }
}

function keyOf(where: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const hint = pem.includes("ENCRYPTED") ? "Store it without a passphrase, mode 600." : "Copy the whole file again.";
    throw new CredentialsError(`${where}: the client key is not a readable PEM key`, hint, { cause: error });
  }
}
