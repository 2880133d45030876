import type { CredentialsError } from "./credentials-error.ts";

/** Address and credentials of one API server, as read for a new connection. */
export interface Access {
  readonly server: URL;
  /** The default namespace. */
  readonly namespace: string | undefined;
  readonly tls: TlsAccess;
  /** The kubeconfig's proxy, which takes precedence over the environment's; undefined if it names none. */
  readonly proxy: URL | undefined;
  /** The Authorization header for a request sent now; undefined if it needs none. */
  authorization(): Promise<string | undefined>;
  /** Set by `authorization` if the files or the client certificate have changed and a new connection is needed. */
  readonly outdated: boolean;
  /** Called after a 401 response: discards cached credentials, so that they are fetched again. */
  refused(): void;
  /** Called after a response that suggests a wrong server or user: has the files checked for changes. */
  doubted?(): void;
}

export interface TlsAccess {
  /** Certificate authorities in PEM; undefined to use those that the system trusts. */
  readonly ca: string | undefined;
  /** Client certificate in PEM; undefined if there is none. */
  readonly certificate: string | undefined;
  /** Private key of the client certificate in PEM. */
  readonly key: string | undefined;
  /** The name expected in the server's certificate; undefined for the host of the address. */
  readonly serverName: string | undefined;
  /** False if the server's certificate is not checked. */
  readonly verify: boolean;
}

/** A source of access, read for each new connection. Throws CredentialsError if there are no usable credentials. */
export interface Credentials {
  access(): Promise<Access>;
  /**
   * The error for a caller that stops waiting for `access` or `authorization`; undefined if neither waits for a
   * credential plugin.
   */
  waitsFor?(): CredentialsError | undefined;
}
