import { createHash } from "node:crypto";
import type { Ambient } from "../base/ambient.ts";
import type { Io } from "../base/io.ts";
import { resolvedCredentials } from "../client/credentials/credential-resolution.ts";
import type { Credentials } from "../client/credentials/credentials.ts";
import { HttpTransport } from "../client/transport/http-transport.ts";
import { defaultHealth } from "../client/transport/http2-wire.ts";
import type { ProxySettings } from "../client/transport/proxy.ts";
import { etc } from "../config/load.ts";
import type { Config } from "../config/settings.ts";

export function transportOf(io: Io, config: Config, ambient: Ambient, credentials: Credentials): HttpTransport {
  return new HttpTransport(ambient, {
    credentials,
    proxies: proxiesOf(io, config.api.proxy),
    health: defaultHealth,
    timeout: config.client.timeouts.write,
  });
}

export const proxiesOf = ({ env }: Pick<Io, "env">, configured: string | undefined): ProxySettings => ({
  proxy: configured ?? env.HTTPS_PROXY ?? env.https_proxy,
  except: env.NO_PROXY ?? env.no_proxy,
});

/** The credentials of this board's agent, for the agent itself. */
export const credentialsOf = ({ env }: Pick<Io, "env">, { api }: Config, ambient: Ambient): Credentials =>
  resolvedCredentials(ambient, { api, asker: "agent", places: { env, etc } });

/** The credentials of this board's agent, for a command run by an operator. */
export const askedCredentials = ({ env }: Pick<Io, "env">, { api }: Config, ambient: Ambient): Credentials =>
  resolvedCredentials(ambient, { api, asker: "person", places: { env, etc } });

/**
 * A hash of the server's address and certificate authority, which identifies the cluster if this board is not allowed
 * to read the cluster's uid.
 */
export async function addressOf(credentials: Credentials): Promise<string> {
  const { server, tls } = await credentials.access();
  return createHash("sha256")
    .update(`${server.href}\n${tls.ca ?? ""}`)
    .digest("hex");
}
