import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Ambient } from "../base/ambient.ts";
import type { Credentials } from "../client/credentials.ts";
import { CredentialsError } from "../client/credentials-error.ts";
import { HttpTransport } from "../client/http-transport.ts";
import { defaultHealth } from "../client/http2-wire.ts";
import { KubeconfigCredentials } from "../client/kubeconfig-credentials.ts";
import type { ProxySettings } from "../client/proxy.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "../client/service-account-credentials.ts";
import { etc } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import type { Io } from "./io.ts";

/** Where `siteward enroll` puts them, and where the unit copies them from. */
export const enrolledKubeconfig = `${etc}/credentials/kubeconfig`;

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

/**
 * As kubectl looks for them: what is configured, KUBECONFIG, the home folder; inside a pod its service account. A service
 * of systemd has those that its unit was given, or that the board was enrolled with (systemd before 247 gives it none).
 */
export function credentialsOf(io: Io, { api }: Config, ambient: Ambient): Credentials {
  const { env } = io;
  const given = env.CREDENTIALS_DIRECTORY;
  const named = api.kubeconfig ?? env.KUBECONFIG?.split(":").find((part) => part !== "");
  const isService = given !== undefined || env.NOTIFY_SOCKET !== undefined;
  if (named === undefined && env.KUBERNETES_SERVICE_HOST !== undefined) {
    return new ServiceAccountCredentials(ambient, { folder: serviceAccountFolder, environment: env });
  }
  const kubeconfig = (file: string): Credentials =>
    new KubeconfigCredentials(ambient, { file, context: api.context, environment: environmentOf(env) });
  if (named !== undefined) return kubeconfig(named);
  const home = join(env.HOME ?? homedir(), ".kube/config");
  if (!isService) return kubeconfig(home);
  const places = [...(given === undefined ? [] : [join(given, "kubeconfig")]), enrolledKubeconfig, home];
  const found = places.map((file) => ({ file, credentials: kubeconfig(file) }));
  // Looked for again each time: a person may be enrolling the board right now.
  return {
    access: async () => {
      const { credentials } = found.find(({ file }) => isFilled(file)) ?? {};
      if (!credentials) throw new CredentialsError("this board was given no credentials for the API", enrollHint);
      return await credentials.access();
    },
  };
}

const enrollHint =
  "Enrol it (siteward enroll --help), or name a kubeconfig (api.kubeconfig); then restart the service.";

/** Of what this user may not look at, it is not known. The unit gives a word in its place where the board was not enrolled. */
function isFilled(file: string): boolean {
  try {
    return statSync(file).size > "none\n".length;
  } catch {
    return false;
  }
}

/** What credential plugins inherit: nothing by which they could speak for the service. */
function environmentOf(env: Io["env"]): Io["env"] {
  const { NOTIFY_SOCKET: _, LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, WATCHDOG_USEC, WATCHDOG_PID, ...rest } = env;
  return rest;
}

/** Stands for the cluster behind it, where that may not be asked for its name. */
export async function addressOf(credentials: Credentials): Promise<string> {
  const { server, tls } = await credentials.access();
  return createHash("sha256")
    .update(`${server.href}\n${tls.ca ?? ""}`)
    .digest("hex");
}
