import { dirname, resolve } from "node:path";
import { dump } from "js-yaml";
import { readCredentialFile } from "../client/credential-file.ts";
import { CredentialsError } from "../client/credentials-error.ts";
import { kubeconfigContext, type Section } from "../client/kubeconfig.ts";

/**
 * Reduces a kubeconfig to one self-contained context: certificates and keys are embedded. Plugins and token files stay
 * where they are, as others renew them.
 */
export async function flatKubeconfig(file: string, context: string | undefined): Promise<string> {
  const text = await readCredentialFile(file, "kubeconfig");
  const found = kubeconfigContext(text, file, context);
  const { cluster, user } = found;
  const embedded = async (section: Section, name: string): Promise<Readonly<Record<string, string>>> => {
    const data = section.text(`${name}-data`);
    if (data !== undefined) return { [`${name}-data`]: data };
    const path = section.text(name);
    if (path === undefined) return {};
    const pem = await readCredentialFile(resolve(dirname(file), path), `${name} file`);
    return { [`${name}-data`]: Buffer.from(pem).toString("base64") };
  };
  const kept = (section: Section, names: readonly string[]): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      names
        .filter((name) => section.has(name))
        .map((name) => [name, section.fields(name) ?? (isFlag(name) ? section.flag(name) : section.text(name))]),
    );
  const tokenFile = user.text("tokenFile");
  return written({
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
    throw new CredentialsError(`server ${server} is no address`, "Write it like https://10.0.0.1:6443.");
  if (!/^[\w.~+/=-]+$/.test(token))
    throw new CredentialsError("the token is none: it holds blanks or other characters", "Copy it again, whole.");
  const authority = ca === undefined ? {} : { "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return written({ cluster: { server, ...authority }, user: { token }, namespace: undefined });
}

function written(parts: {
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
