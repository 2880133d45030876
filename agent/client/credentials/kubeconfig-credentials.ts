import { dirname, resolve } from "node:path";
import type { Ambient } from "../../base/ambient.ts";
import { bearerToken } from "./bearer-token.ts";
import { certificateOf, checkClientCertificate } from "./client-certificate.ts";
import { CredentialSources } from "./credential-sources.ts";
import type { Access, Credentials, TlsAccess } from "./credentials.ts";
import type { CredentialsError } from "./credentials-error.ts";
import { type Environment, type ExecCredential, ExecPlugin } from "./exec-credential.ts";
import { type KubeconfigSection, kubeconfigContext } from "./kubeconfig.ts";
import { TokenFile } from "./token-file.ts";

/** How requests are authenticated. All fields are undefined if the kubeconfig contains only a client certificate. */
interface Identity {
  readonly plugin: ExecPlugin | undefined;
  readonly credential: ExecCredential | undefined;
  /** Takes precedence over `header` as long as it can be read. */
  readonly tokenFile: TokenFile | undefined;
  /** The Authorization header from the kubeconfig's token or password. */
  readonly header: string | undefined;
}

/**
 * Credentials from a kubeconfig file, read again for each connection, because an operator may correct it, or a rotation
 * may replace its certificates, while the agent runs.
 */
export class KubeconfigCredentials implements Credentials {
  readonly #ambient: Ambient;
  readonly #file: string;
  readonly #context: string | undefined;
  readonly #environment: Environment;
  /**
   * The credential plugin, kept across connections while its configuration (`from`) stays the same, so that it runs
   * only if a new credential is needed.
   */
  #plugin: { readonly from: string; readonly plugin: ExecPlugin } | undefined;

  constructor(
    ambient: Ambient,
    options: {
      readonly file: string;
      /** The name of the context; undefined for the file's current-context. */
      readonly context: string | undefined;
      /** Environment for credential plugins. */
      readonly environment: Environment;
    },
  ) {
    this.#ambient = ambient;
    this.#file = resolve(options.file);
    this.#context = options.context;
    this.#environment = options.environment;
  }

  async access(): Promise<Access> {
    const sources = new CredentialSources(this.#ambient.clock);
    const text = await sources.read(this.#file, "kubeconfig");
    const { cluster, user, namespace } = kubeconfigContext(text, this.#file, this.#context);
    const identity = await this.#identity(user, cluster, sources);
    const tls = await this.#tls(cluster, user, { credential: identity.credential, sources });
    const way = { server: serverOf(cluster, tls), namespace, tls, proxy: proxyOf(cluster) };
    return new KubeconfigAccess(way, identity, sources);
  }

  waitsFor(): CredentialsError | undefined {
    return this.#plugin?.plugin.delay();
  }

  async #identity(user: KubeconfigSection, cluster: KubeconfigSection, sources: CredentialSources): Promise<Identity> {
    for (const field of ["auth-provider", "as", "as-uid", "as-groups", "as-user-extra"]) {
      if (!user.has(field)) continue;
      throw user.error(`${field} is not supported`, "Use a token, a client certificate or a credential plugin (exec).");
    }
    const token = bearerToken(user.text("token") ?? "", `${user.where}: token`);
    const tokenPath = user.text("tokenFile");
    const name = user.text("username");
    if (name !== undefined && (token !== undefined || tokenPath !== undefined)) {
      throw user.error("has a user name and a token", "Keep one of them.");
    }
    const tokenFile = tokenPath === undefined ? undefined : this.#tokenFile(tokenPath, sources);
    const header = token === undefined ? basic(name, user.text("password")) : `Bearer ${token}`;
    const exec = user.fields("exec");
    if (tokenFile !== undefined || header !== undefined || exec === undefined) {
      // Read once now, so that an unreadable file is reported before a connection is opened.
      if (header === undefined) await tokenFile?.token();
      return { plugin: undefined, credential: undefined, tokenFile, header };
    }
    const plugin = this.#pluginFor(exec, user, cluster);
    return { plugin, credential: await sources.answerOf(plugin), tokenFile, header };
  }

  #tokenFile(path: string, sources: CredentialSources): TokenFile {
    const file = this.#path(path);
    sources.note(file);
    return new TokenFile(this.#ambient.clock, file);
  }

  #pluginFor(exec: Readonly<Record<string, unknown>>, user: KubeconfigSection, cluster: KubeconfigSection): ExecPlugin {
    const about = {
      server: cluster.text("server"),
      "tls-server-name": cluster.text("tls-server-name"),
      "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify") || undefined,
      "certificate-authority-data": cluster.text("certificate-authority-data"),
      "proxy-url": cluster.text("proxy-url"),
    };
    const from = JSON.stringify([exec, about]);
    if (this.#plugin?.from !== from) {
      const options = { where: user.where, file: this.#file, exec, environment: this.#environment, cluster: about };
      this.#plugin = { from, plugin: new ExecPlugin(this.#ambient.clock, options) };
    }
    return this.#plugin.plugin;
  }

  async #tls(
    cluster: KubeconfigSection,
    user: KubeconfigSection,
    { credential, sources }: { readonly credential: ExecCredential | undefined; readonly sources: CredentialSources },
  ): Promise<TlsAccess> {
    const pem = (section: KubeconfigSection, name: string): Promise<string | undefined> =>
      this.#pem(section, name, sources);
    const verify = !cluster.flag("insecure-skip-tls-verify");
    const ca = verify ? await pem(cluster, "certificate-authority") : undefined;
    const certificate = credential?.certificate ?? (await pem(user, "client-certificate"));
    const key = credential?.key ?? (await pem(user, "client-key"));
    if (ca !== undefined) certificateOf(cluster.where, "certificate authority", ca);
    if (certificate !== undefined && key !== undefined) {
      checkClientCertificate(user.where, certificate, key, this.#ambient.clock.now());
    } else if (certificate !== undefined || key !== undefined) {
      const missing = key === undefined ? "client-key" : "client-certificate";
      throw user.error(`${missing} is missing`, "A client certificate and its key belong together.");
    }
    return { ca, certificate, key, serverName: cluster.text("tls-server-name"), verify };
  }

  /** The PEM text in the "-data" field, or in the file that the field without that suffix names. */
  async #pem(section: KubeconfigSection, name: string, sources: CredentialSources): Promise<string | undefined> {
    const data = section.decoded(`${name}-data`);
    if (data !== undefined) return data;
    const file = section.text(name);
    return file === undefined ? undefined : sources.read(this.#path(file), `${name} file`);
  }

  /** Paths in a kubeconfig are relative to its folder. */
  #path(file: string): string {
    return resolve(dirname(this.#file), file);
  }
}

class KubeconfigAccess implements Access {
  readonly server: URL;
  readonly namespace: string | undefined;
  readonly tls: TlsAccess;
  readonly proxy: URL | undefined;
  readonly #identity: Identity;
  readonly #sources: CredentialSources;
  outdated = false;

  constructor(
    way: Pick<Access, "server" | "namespace" | "tls" | "proxy">,
    identity: Identity,
    sources: CredentialSources,
  ) {
    this.server = way.server;
    this.namespace = way.namespace;
    this.tls = way.tls;
    this.proxy = way.proxy;
    this.#identity = identity;
    this.#sources = sources;
  }

  async authorization(): Promise<string | undefined> {
    this.outdated ||= this.#sources.haveChanged();
    if (this.outdated) return undefined;
    const { plugin, tokenFile, header } = this.#identity;
    if (tokenFile) return this.#fromFile(tokenFile, header);
    return plugin ? this.#fromPlugin(plugin) : header;
  }

  refused(): void {
    this.#identity.plugin?.forget();
    this.#identity.tokenFile?.forget();
  }

  doubted(): void {
    this.#sources.doubt();
  }

  async #fromPlugin(plugin: ExecPlugin): Promise<string | undefined> {
    try {
      const { certificate, token } = await this.#sources.answerOf(plugin);
      this.outdated = certificate !== this.#identity.credential?.certificate;
      return token === undefined ? undefined : `Bearer ${token}`;
    } catch (error) {
      // Needed because the connection stays open, so a corrected kubeconfig would not be read otherwise.
      this.doubted();
      throw error;
    }
  }

  /** If a kubeconfig has both, the token file takes precedence over the token as long as it can be read. */
  async #fromFile(tokenFile: TokenFile, header: string | undefined): Promise<string> {
    try {
      return `Bearer ${await tokenFile.token()}`;
    } catch (error) {
      if (header === undefined) throw error;
      return header;
    }
  }
}

const basic = (name: string | undefined, password: string | undefined): string | undefined =>
  name === undefined ? undefined : `Basic ${Buffer.from(`${name}:${password ?? ""}`).toString("base64")}`;

function serverOf(cluster: KubeconfigSection, tls: TlsAccess): URL {
  const server = cluster.text("server");
  if (server === undefined) throw cluster.error("server is missing", "Set it to the address of the API server.");
  const secure = tls.ca !== undefined || tls.certificate !== undefined || !tls.verify;
  const text = server.includes("://") ? server : `${secure ? "https" : "http"}://${server}`;
  if (URL.canParse(text) && /^https?:\/\//.test(text)) return new URL(text);
  throw cluster.error(`server ${server} is not an address`, "Write it in the form https://10.0.0.1:6443.");
}

function proxyOf(cluster: KubeconfigSection): URL | undefined {
  const proxy = cluster.text("proxy-url");
  if (proxy === undefined) return undefined;
  if (URL.canParse(proxy) && /^https?:\/\//.test(proxy)) return new URL(proxy);
  throw cluster.error(`proxy-url ${proxy} is not supported`, "Use a proxy with an http:// or https:// address.");
}
