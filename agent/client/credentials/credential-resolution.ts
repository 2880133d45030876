import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Ambient } from "../../base/ambient.ts";
import { isForbidden } from "../../base/errors.ts";
import { serviceVariables } from "../../base/service-variables.ts";
import type { Credentials } from "./credentials.ts";
import { CredentialsError } from "./credentials-error.ts";
import { KubeconfigCredentials } from "./kubeconfig-credentials.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "./service-account-credentials.ts";

/**
 * The user of the credentials. For the agent, KUBECONFIG in its environment takes precedence over the credentials that
 * the board was enrolled with. For a command run by a person, the enrolled credentials come first: the person's
 * KUBECONFIG may be an administrator's or another site's, and the service does not use it.
 */
export type Asker = "agent" | "person";

/** Where credentials may be found. */
export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the configuration: /etc/siteward. */
  readonly etc: string;
}

/** A kubeconfig file, or the service account of the pod that this process runs in; undefined if there is neither. */
export type ResolvedCredentials = { readonly file: string } | { readonly pod: true } | undefined;

/** Selects the credentials to use. Callers resolve again for each connection, because a board may be enrolled later. */
export function resolveKubeconfig(
  configured: string | undefined,
  asker: Asker,
  { env, etc }: Places,
): ResolvedCredentials {
  if (configured !== undefined) return { file: configured };
  const passed = env.CREDENTIALS_DIRECTORY;
  // The copy that systemd passes to the service, then the enrolled file itself, because systemd before 247 passes none.
  const enrolled = [...(passed === undefined ? [] : [join(passed, "kubeconfig")]), join(etc, "credentials/kubeconfig")];
  const home = join(env.HOME ?? homedir(), ".kube/config");
  const fileOf = (file: string | undefined): ResolvedCredentials => (file === undefined ? undefined : { file });
  const ofEnvironment =
    fileOf(env.KUBECONFIG?.split(":").find((part) => part !== "")) ??
    (env.KUBERNETES_SERVICE_HOST === undefined ? undefined : { pod: true });
  // Also selects a file that this person is not allowed to read, because the service uses it, and another file might
  // name another cluster.
  const isUsed = (file: string): boolean => {
    const content = contentOf(file);
    return content === "filled" || (content === "hidden" && asker === "person");
  };
  const ofBoard = fileOf(enrolled.find(isUsed));
  const found = asker === "agent" ? (ofEnvironment ?? ofBoard) : (ofBoard ?? ofEnvironment);
  if (found) return found;
  if (contentOf(home) === "filled") return { file: home };
  if (asker === "person") return undefined;
  const isService = passed !== undefined || env.NOTIFY_SOCKET !== undefined;
  return isService ? undefined : { file: home };
}

/**
 * Whether a file has content. "none" also if it is the placeholder that the unit passes on a board that is not
 * enrolled. "hidden" if this user is not allowed to read the file.
 */
function contentOf(file: string): "filled" | "hidden" | "none" {
  try {
    return statSync(file).size > "none\n".length ? "filled" : "none";
  } catch (error) {
    return isForbidden(error) ? "hidden" : "none";
  }
}

/** Credentials that are resolved again for each connection. `api`: the settings with that name. */
export function resolvedCredentials(
  ambient: Ambient,
  {
    api,
    asker,
    places,
  }: {
    readonly api: { readonly kubeconfig: string | undefined; readonly context: string | undefined };
    readonly asker: Asker;
    readonly places: Places;
  },
): Credentials {
  const environment = forPlugins(places.env);
  // The credentials by file, kept because each caches the result of its credential plugin.
  const opened = new Map<string, Credentials>();
  let current: Credentials | undefined;
  const open = (file: string | undefined): Credentials =>
    file === undefined
      ? new ServiceAccountCredentials(ambient, { folder: serviceAccountFolder, environment })
      : new KubeconfigCredentials(ambient, { file, context: api.context, environment });
  return {
    access: async () => {
      const resolved = resolveKubeconfig(api.kubeconfig, asker, places);
      if (!resolved) throw new CredentialsError("this board has no credentials for the API", enrollHint);
      const file = "file" in resolved ? resolved.file : undefined;
      current = opened.get(file ?? "") ?? open(file);
      opened.set(file ?? "", current);
      return await current.access();
    },
    waitsFor: () => current?.waitsFor?.(),
  };
}

const enrollHint =
  "Enrol it (sudo siteward enroll), or name a kubeconfig (api.kubeconfig); then sudo systemctl restart siteward.";

/** The environment of credential plugins, without the variables for the service's messages to systemd. */
const forPlugins = (env: Places["env"]): Places["env"] =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !serviceVariables.includes(name)));
