import type { CredentialsError } from "./credentials-error.ts";

/** How to reach and convince one API server, as read for a new connection. */
export interface Access {
  readonly server: URL;
  /** The namespace that is meant where none is said. */
  readonly namespace: string | undefined;
  readonly tls: TlsAccess;
  /** Stated in the kubeconfig; goes before what the environment says. */
  readonly proxy: URL | undefined;
  /** The Authorization header of a request that is sent now. */
  authorization(): Promise<string | undefined>;
  /** True once `authorization` found that the client certificate or what it was read from was replaced: dial anew. */
  readonly outdated: boolean;
  /** The server said 401: whatever is remembered is fetched anew next time. */
  refused(): void;
  /** An answer that another server, or the server to another user, would not give. Left out: nothing can be corrected. */
  doubted?(): void;
}

export interface TlsAccess {
  /** PEM; undefined: the authorities that Node brings along. */
  readonly ca: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** The name that the server's certificate must carry, where it is not the address. */
  readonly serverName: string | undefined;
  readonly verify: boolean;
}

/** Where access comes from. Asked for each new connection; throws CredentialsError where it cannot be had. */
export interface Credentials {
  access(): Promise<Access>;
  /** What an access or its authorization is waited for at present, as a reason to give up waiting; undefined: nothing. */
  waitsFor?(): CredentialsError | undefined;
}
