import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Places, resolveKubeconfig } from "../client/credentials/credential-resolution.ts";
import { type KubeconfigSection, kubeconfigContext } from "../client/credentials/kubeconfig.ts";
import type { Config } from "../config/settings.ts";
import { credentialFile } from "./credential-places.ts";

/** Maximum size of a file, in bytes; larger files are not read. */
const maxFileBytes = 1024 * 1024;

/** The secrets on this board that this user may read, to be redacted from the archive. */
export function knownSecrets(config: Config | undefined, places: Places): readonly string[] {
  // The folders of enrolled credentials, and of those that systemd passes.
  const folders = [join(places.etc, "credentials"), places.env.CREDENTIALS_DIRECTORY ?? ""];
  const files = folders.flatMap((folder) =>
    folder !== "" && existsSync(folder) ? namesIn(folder).map((name) => join(folder, name)) : [],
  );
  const meant = config && resolveKubeconfig(config.api.kubeconfig, "person", places);
  const named = [
    meant && "file" in meant ? meant.file : undefined,
    config && credentialFile(config.mqtt.key, "mqtt.key", places),
  ];
  const texts = [...files, ...named].flatMap((file) => (file === undefined ? [] : textOf(file)));
  // Certificates are public and help support.
  return [...texts.filter((text) => !/^-----BEGIN CERTIFICATE/.test(text)), ...texts.flatMap(fieldsOf)];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function textOf(file: string): readonly string[] {
  try {
    return statSync(file).size <= maxFileBytes ? [readFileSync(file, "utf8")] : [];
  } catch {
    return [];
  }
}

/** The secrets in a kubeconfig, and in the files that it names, in each encoding. */
function fieldsOf(text: string): readonly string[] {
  try {
    const { user } = kubeconfigContext(text, "", undefined);
    const token = user.text("tokenFile");
    return [
      ...["token", "password", "client-key-data"].flatMap((name) => user.text(name) ?? []),
      ...(user.decoded("client-key-data") === undefined ? [] : [user.decoded("client-key-data") ?? ""]),
      ...[token, user.text("client-key")].flatMap((file) => (file === undefined ? [] : textOf(file))),
      ...execSecrets(user),
    ];
  } catch {
    return [];
  }
}

/** The values in the environment of a credential plugin, which may be secrets. */
function execSecrets(user: KubeconfigSection): readonly string[] {
  const env = user.fields("exec")?.env;
  if (!Array.isArray(env)) return [];
  return env.flatMap((one: unknown) =>
    typeof one === "object" && one !== null && "value" in one && typeof one.value === "string" ? [one.value] : [],
  );
}
