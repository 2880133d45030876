import type { CredentialsError } from "./credentials-error.ts";

/** Address and credentials of one API server, as read for a new connection. */
export interface Access {
  readonly server: URL;
  /** The default namespace. */
  readonly namespace: string | undefined;
  readonly tls: TlsAccess;
  /** From the kubeconfig; takes precedence over the environment. */
  readonly proxy: URL | undefined;
  /** The Authorization header for a request sent now. */
  authorization(): Promise<string | undefined>;
  /** True once `authorization` found the client certificate or its sources replaced: open a new connection. */
  readonly outdated: boolean;
  /** The server answered 401: cached credentials are fetched again next time. */
  refused(): void;
  /** The answer suggests a wrong server or user. Left out if there is no source to correct. */
  doubted?(): void;
}

export interface TlsAccess {
  /** PEM; undefined for Node's built-in authorities. */
  readonly ca: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** The name expected in the server's certificate, if it is not the address. */
  readonly serverName: string | undefined;
  readonly verify: boolean;
}

/** A source of access, read for each new connection. Throws CredentialsError if there are no usable credentials. */
export interface Credentials {
  access(): Promise<Access>;
  /** What `access` or `authorization` is waiting for, as an error for a caller that gives up; undefined if nothing. */
  waitsFor?(): CredentialsError | undefined;
}
