import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Ambient } from "../base/ambient.ts";
import { isForbidden } from "../base/errors.ts";
import { serviceVariables } from "../base/service-variables.ts";
import type { Credentials } from "./credentials.ts";
import { CredentialsError } from "./credentials-error.ts";
import { KubeconfigCredentials } from "./kubeconfig-credentials.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "./service-account-credentials.ts";

/**
 * The agent prefers the KUBECONFIG it was started with to the credentials the board was enrolled with. A command that a
 * person runs uses the service's: the person's KUBECONFIG may be an administrator's or another site's, and the service
 * does not know it.
 */
export type Asker = "agent" | "person";

export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** /etc/siteward */
  readonly etc: string;
}

/** The credentials to use for the API: a kubeconfig, or those of the pod; undefined if there are none. */
export type Meant = { readonly file: string } | { readonly pod: true } | undefined;

/** Resolved again each time: the board may just have been enrolled. */
export function meantKubeconfig(configured: string | undefined, asker: Asker, { env, etc }: Places): Meant {
  if (configured !== undefined) return { file: configured };
  const passed = env.CREDENTIALS_DIRECTORY;
  // As passed on by systemd; before version 247 it does not, and the agent reads the enrolled file itself.
  const enrolled = [...(passed === undefined ? [] : [join(passed, "kubeconfig")]), join(etc, "credentials/kubeconfig")];
  const home = join(env.HOME ?? homedir(), ".kube/config");
  const fileOf = (file: string | undefined): Meant => (file === undefined ? undefined : { file });
  const ofEnvironment =
    fileOf(env.KUBECONFIG?.split(":").find((part) => part !== "")) ??
    (env.KUBERNETES_SERVICE_HOST === undefined ? undefined : { pod: true });
  // A file that the person may not read is still the one in use: the person's own cluster would be another.
  const isThere = (file: string): boolean => {
    const seen = look(file);
    return seen === "filled" || (seen === "hidden" && asker === "person");
  };
  const ofBoard = fileOf(enrolled.find(isThere));
  const found = asker === "agent" ? (ofEnvironment ?? ofBoard) : (ofBoard ?? ofEnvironment);
  if (found) return found;
  if (look(home) === "filled") return { file: home };
  if (asker === "person") return undefined;
  const isService = passed !== undefined || env.NOTIFY_SOCKET !== undefined;
  return isService ? undefined : { file: home };
}

/** The unit passes a placeholder word as the credential of a board that was not enrolled. */
function look(file: string): "filled" | "hidden" | "none" {
  try {
    return statSync(file).size > "none\n".length ? "filled" : "none";
  } catch (error) {
    return isForbidden(error) ? "hidden" : "none";
  }
}

/** The credentials to use. `api`: the settings of that name. */
export function meantCredentials(
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
  // Kept, since they cache the answers of credential plugins.
  const opened = new Map<string, Credentials>();
  let current: Credentials | undefined;
  const open = (file: string | undefined): Credentials =>
    file === undefined
      ? new ServiceAccountCredentials(ambient, { folder: serviceAccountFolder, environment })
      : new KubeconfigCredentials(ambient, { file, context: api.context, environment });
  return {
    access: async () => {
      const meant = meantKubeconfig(api.kubeconfig, asker, places);
      if (!meant) throw new CredentialsError("this board was given no credentials for the API", enrollHint);
      const file = "file" in meant ? meant.file : undefined;
      current = opened.get(file ?? "") ?? open(file);
      opened.set(file ?? "", current);
      return await current.access();
    },
    waitsFor: () => current?.waitsFor?.(),
  };
}

const enrollHint =
  "Enrol it (sudo siteward enroll), or name a kubeconfig (api.kubeconfig); then sudo systemctl restart siteward.";

/** The environment of credential plugins: without variables that would let them speak for the service. */
const forPlugins = (env: Places["env"]): Places["env"] =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !serviceVariables.includes(name)));
