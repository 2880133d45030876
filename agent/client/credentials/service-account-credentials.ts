import { isIPv6 } from "node:net";
import { join } from "node:path";
import type { Ambient } from "../../base/ambient.ts";
import { certificateOf } from "./client-certificate.ts";
import { readCredentialFile } from "./credential-file.ts";
import { CredentialSources } from "./credential-sources.ts";
import type { Access, Credentials } from "./credentials.ts";
import { CredentialsError } from "./credentials-error.ts";
import type { Environment } from "./exec-credential.ts";
import { TokenFile } from "./token-file.ts";

export const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Credentials of a program in a Pod: the service account token that the kubelet mounts and renews. */
export class ServiceAccountCredentials implements Credentials {
  readonly #ambient: Ambient;
  readonly #folder: string;
  readonly #environment: Environment;
  readonly #token: TokenFile;

  constructor(ambient: Ambient, options: { readonly folder: string; readonly environment: Environment }) {
    this.#ambient = ambient;
    this.#folder = options.folder;
    this.#environment = options.environment;
    this.#token = new TokenFile(ambient.clock, join(options.folder, "token"));
  }

  async access(): Promise<Access> {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = this.#environment;
    if (!host || !port) {
      throw new CredentialsError(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
        "Run the agent in a Pod, or give it a kubeconfig.",
      );
    }
    const caFile = join(this.#folder, "ca.crt");
    const sources = new CredentialSources(this.#ambient.clock);
    const ca = await sources.read(caFile, "certificate authority file");
    certificateOf(caFile, "certificate authority", ca);
    await this.#token.token();
    const namespace = await readCredentialFile(join(this.#folder, "namespace"), "namespace file").catch(() => "");
    const token = this.#token;
    let outdated = false;
    return {
      server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
      namespace: namespace.trim() || undefined,
      tls: { ca, certificate: undefined, key: undefined, serverName: undefined, verify: true },
      proxy: undefined,
      get outdated() {
        return outdated;
      },
      authorization: async () => {
        outdated ||= sources.haveChanged();
        return `Bearer ${await token.token()}`;
      },
      refused: () => token.forget(),
      doubted: () => sources.doubt(),
    };
  }
}
