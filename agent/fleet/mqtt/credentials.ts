import { createPrivateKey, X509Certificate } from "node:crypto";
import path from "node:path";
import { readText } from "../../config/read-text.ts";
import type { Config } from "../../config/settings.ts";
import { LinkError, type LinkOptions } from "./link.ts";
import { type FleetIdentity, userNameOf } from "./topics.ts";

export type Tls = NonNullable<LinkOptions["tls"]>;

const ownFolder = "/etc/siteward/credentials";

/**
 * Paths of the fleet link's credentials: as configured, or otherwise in the folder that systemd passes or `enroll`
 * writes to.
 */
export function credentialFiles({ mqtt }: Pick<Config, "mqtt">, env: Readonly<Record<string, string | undefined>>) {
  const folder = env.CREDENTIALS_DIRECTORY ?? ownFolder;
  return {
    certificate: mqtt.certificate ?? path.join(folder, "mqtt.crt"),
    key: mqtt.key ?? path.join(folder, "mqtt.key"),
    ca: mqtt.ca ?? path.join(folder, "mqtt-ca.crt"),
  };
}

export type CredentialFiles = ReturnType<typeof credentialFiles>;

/**
 * Reads the files and checks that key and certificate match and name this board. Throws a LinkError of kind
 * "credentials".
 */
export function readCredentials(files: CredentialFiles, identity: FleetIdentity): Tls {
  const certificate = textOf(files.certificate, "certificate");
  const key = textOf(files.key, "key");
  const ca = textOf(files.ca, "authority");
  const x509 = certificateOf(files.certificate, certificate);
  certificateOf(files.ca, ca);
  if (!x509.checkPrivateKey(keyOf(files.key, key)))
    throw new LinkError("credentials", `${files.key} does not belong to ${files.certificate}`, {
      hint: "Copy the key and the certificate from the same place.",
    });
  const name = /^CN=(.*)$/m.exec(x509.subject)?.[1]?.replaceAll("\\/", "/");
  if (name !== userNameOf(identity))
    throw new LinkError(
      "credentials",
      `${files.certificate} is for ${name}, but this board is ${userNameOf(identity)}`,
      {
        hint: "Issue a certificate with CN=fleet/site/board, or correct mqtt.fleet, site.name and board.name.",
      },
    );
  return { certificate, key, ca };
}

function textOf(file: string, what: string): string {
  const found = readText(file);
  if ("text" in found) return found.text;
  throw new LinkError("credentials", `${what} ${file} ${found.problem}`, {
    hint: "Run siteward enroll, which installs it.",
  });
}

function certificateOf(file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new LinkError("credentials", `${file} is not a PEM certificate`, {
      hint: "Copy the whole file again.",
      cause,
    });
  }
}

function keyOf(file: string, pem: string) {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new LinkError("credentials", `${file} is not a readable PEM key`, {
      hint: "Store it without a passphrase.",
      cause,
    });
  }
}
