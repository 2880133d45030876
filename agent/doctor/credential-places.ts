import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Ambient } from "../base/ambient.ts";
import type { Credentials } from "../client/credentials.ts";
import { KubeconfigCredentials } from "../client/kubeconfig-credentials.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "../client/service-account-credentials.ts";
import type { Config } from "../config/settings.ts";

export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** /etc/siteward */
  readonly etc: string;
}

/** A credential by its name, as the service finds it: among those that systemd passed on, or where they were enrolled. */
export function credentialFile(configured: string | undefined, name: string, { env, etc }: Places): string {
  if (configured !== undefined) return configured;
  const passed = env.CREDENTIALS_DIRECTORY && join(env.CREDENTIALS_DIRECTORY, name);
  return passed && existsSync(passed) ? passed : join(etc, "credentials", name);
}

/**
 * The kubeconfig that the agent uses; undefined: it runs in a pod, as its service account. Where the board is enrolled that is
 * not the KUBECONFIG of whoever asks: the service knows nothing of it, and it may be an administrator's, or another site's.
 */
export function kubeconfigFile({ api }: Config, places: Places): string | undefined {
  const { env } = places;
  if (api.kubeconfig !== undefined) return api.kubeconfig;
  const enrolled = credentialFile(undefined, "kubeconfig", places);
  if (existsSync(enrolled)) return enrolled;
  const named = env.KUBECONFIG?.split(":").find((part) => part !== "");
  if (named !== undefined) return named;
  if (env.KUBERNETES_SERVICE_HOST !== undefined) return undefined;
  const own = join(env.HOME ?? "/root", ".kube/config");
  return existsSync(own) ? own : enrolled;
}

export function kubeCredentials(ambient: Ambient, config: Config, places: Places): Credentials {
  const file = kubeconfigFile(config, places);
  return file === undefined
    ? new ServiceAccountCredentials(ambient, { folder: serviceAccountFolder, environment: places.env })
    : new KubeconfigCredentials(ambient, { file, context: config.api.context, environment: places.env });
}
