import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Instant } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import { CredentialsError } from "./credentials-error.ts";

/**
 * Reports what is wrong with a client certificate before a server answers a mere "Unauthorized". Its expiry is compared
 * with this board's clock, as TLS does with the server's certificate.
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
    throw new CredentialsError(`${where}: the ${what} is no PEM certificate`, "Copy it again, whole.", {
      cause: error,
    });
  }
}

function keyOf(where: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const hint = pem.includes("ENCRYPTED") ? "Store it without a passphrase, mode 600." : "Copy it again, whole.";
    throw new CredentialsError(`${where}: the client key is no readable PEM key`, hint, { cause: error });
  }
}
