import { isRecord } from "../base/json.ts";
import { versionAnnotation } from "../board/sick-leader.ts";
import type { ApiProbe } from "./api-probe.ts";
import { configOf, type Patient } from "./patient.ts";
import { gravest, ok, skip, unreached, type Verdict, warn } from "./verdict.ts";

/** Range of tested versions: older servers lack APIs the agent needs, newer ones are untested. */
const oldestMinor = 30;
const newestMinor = 36;

export async function versionSkew(patient: Patient): Promise<Verdict> {
  const { api, version, status } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  try {
    const { version: server } = await api.greeting();
    return gravest([
      agentVerdict(version, status?.isFresh ? status.status.version : undefined),
      serverVerdict(server),
      boardsVerdict(version, await boardVersions(api, config.site.nodeSelector)),
    ]);
  } catch {
    return unreached;
  }
}

export function agentVerdict(installed: string, running: string | undefined): Verdict {
  if (running === undefined || running === installed) return ok(`siteward ${installed}`);
  return warn(`siteward ${installed} is installed, and ${running} runs`, "systemctl restart siteward");
}

export function serverVerdict(server: string | undefined): Verdict {
  const minor = Number(/^v1\.(\d+)/.exec(server ?? "")?.[1] ?? Number.NaN);
  if (!Number.isFinite(minor)) return ok("the API server does not tell its version");
  if (minor < oldestMinor)
    return warn(
      `the API server is ${server}, older than 1.${oldestMinor}`,
      "Upgrade it: siteward is not tried against it.",
    );
  if (minor > newestMinor)
    return warn(`the API server is ${server}, newer than 1.${newestMinor}`, "Look for a newer siteward.");
  return ok(`the API server is ${server}`);
}

/** Boards of two versions can lead each other, but a site should not stay that way. */
export function boardsVerdict(
  version: string,
  boards: readonly (readonly [board: string, version: string])[],
): Verdict {
  const others = boards.filter(([, other]) => other !== version);
  if (others.length === 0)
    return ok(
      boards.length === 0
        ? "no other board tells its version"
        : `all ${boards.length} boards that tell it are ${version}`,
    );
  const told = others.slice(0, 4).map(([board, other]) => `${board} ${other}`);
  return warn(
    `other boards run other versions: ${told.join(", ")}${others.length > 4 ? ", …" : ""}`,
    "Upgrade the site's boards one after the other.",
  );
}

async function boardVersions(
  api: ApiProbe,
  selector: string | undefined,
): Promise<readonly (readonly [string, string])[]> {
  const query = new URLSearchParams({ limit: "500", labelSelector: selector ?? "" });
  const { body } = await api.ask("GET", `/api/v1/nodes?${query}`);
  if (!Array.isArray(body?.items)) return [];
  return body.items.flatMap((item: unknown): readonly (readonly [string, string])[] => {
    const metadata = isRecord(item) && isRecord(item.metadata) ? item.metadata : {};
    const found = isRecord(metadata.annotations) ? metadata.annotations[versionAnnotation] : undefined;
    return typeof found === "string" && typeof metadata.name === "string" ? [[metadata.name, found]] : [];
  });
}
