import { dirname, resolve } from "node:path";
import { dump } from "js-yaml";
import { readCredentialFile } from "../client/credentials/credential-file.ts";
import { CredentialsError } from "../client/credentials/credentials-error.ts";
import { type KubeconfigSection, kubeconfigContext } from "../client/credentials/kubeconfig.ts";

/**
 * Reduces a kubeconfig to one context with embedded certificates and keys. Plugins and token files are only referenced,
 * because other programs renew their tokens.
 */
export async function flatKubeconfig(file: string, context: string | undefined): Promise<string> {
  const text = await readCredentialFile(file, "kubeconfig");
  const found = kubeconfigContext(text, file, context);
  const { cluster, user } = found;
  const embedded = async (section: KubeconfigSection, name: string): Promise<Readonly<Record<string, string>>> => {
    const data = section.text(`${name}-data`);
    if (data !== undefined) return { [`${name}-data`]: data };
    const path = section.text(name);
    if (path === undefined) return {};
    const pem = await readCredentialFile(resolve(dirname(file), path), `${name} file`);
    return { [`${name}-data`]: Buffer.from(pem).toString("base64") };
  };
  const kept = (section: KubeconfigSection, names: readonly string[]): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      names
        .filter((name) => section.has(name))
        .map((name) => [name, section.fields(name) ?? (isFlag(name) ? section.flag(name) : section.text(name))]),
    );
  const tokenFile = user.text("tokenFile");
  return kubeconfigText({
    cluster: {
      ...kept(cluster, ["server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url"]),
      ...(await embedded(cluster, "certificate-authority")),
    },
    user: {
      ...kept(user, ["token", "username", "password", "exec"]),
      ...(tokenFile !== undefined && { tokenFile: resolve(dirname(file), tokenFile) }),
      ...(await embedded(user, "client-certificate")),
      ...(await embedded(user, "client-key")),
    },
    namespace: found.namespace,
  });
}

const isFlag = (name: string): boolean => name === "insecure-skip-tls-verify";

/** Builds a kubeconfig from a server's address, its certificate authority and a token. */
export function tokenKubeconfig(server: string, token: string, ca: string | undefined): string {
  if (!URL.canParse(server) || !/^https:\/\//.test(server))
    throw new CredentialsError(`server ${server} is not an address`, "Write it in the form https://10.0.0.1:6443.");
  if (!/^[\w.~+/=-]+$/.test(token))
    throw new CredentialsError(
      "the token is invalid: it has spaces or other forbidden characters",
      "Copy the whole token again.",
    );
  const authority = ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return kubeconfigText({ cluster: { server, ...authority }, user: { token }, namespace: undefined });
}

function kubeconfigText(parts: {
  readonly cluster: object;
  readonly user: object;
  readonly namespace: string | undefined;
}): string {
  const { cluster, user, namespace } = parts;
  const name = "site";
  return dump({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace && { namespace }) } }],
    "current-context": name,
  });
}
