import { isRecord } from "../../base/json.ts";
import { versionAnnotation } from "../../board/sick-leader.ts";
import type { ApiProbe } from "../api-probe.ts";
import { type CheckResult, gravest, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

/** The tested minor versions of Kubernetes. Older servers lack APIs that the agent needs. */
const oldestMinor = 30;
const newestMinor = 36;

export async function versionSkew(patient: Patient): Promise<CheckResult> {
  const { api, version, status } = patient;
  const running = status?.isFresh ? status.status.version : undefined;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  try {
    const { version: server } = await api.greeting();
    return gravest([
      checkAgentVersion(version, running),
      checkServerVersion(server),
      checkBoardVersions(running ?? version, config.board.node, await boardVersions(api, config.site.nodeSelector)),
    ]);
  } catch {
    return unreached;
  }
}

export function checkAgentVersion(installed: string, running: string | undefined): CheckResult {
  if (running === undefined || running === installed) return ok(`siteward ${installed}`);
  return warn(`siteward ${installed} is installed, but ${running} is running`, "systemctl restart siteward");
}

export function checkServerVersion(server: string | undefined): CheckResult {
  const minor = Number(/^v1\.(\d+)/.exec(server ?? "")?.[1] ?? Number.NaN);
  if (!Number.isFinite(minor)) return ok("the API server does not report its version");
  if (minor < oldestMinor)
    return warn(
      `the API server is ${server}, older than 1.${oldestMinor}`,
      "Upgrade it: siteward is not tested with this version.",
    );
  if (minor > newestMinor)
    return warn(`the API server is ${server}, newer than 1.${newestMinor}`, "Look for a newer release of siteward.");
  return ok(`the API server is ${server}`);
}

/**
 * A site works with boards of different versions, but should have them only during an upgrade. `version`: the one that
 * runs on this board, whose Node is `own`.
 */
export function checkBoardVersions(
  version: string,
  own: string,
  boards: readonly (readonly [board: string, version: string])[],
): CheckResult {
  const others = boards.filter(([board]) => board !== own);
  const different = others.filter(([, other]) => other !== version);
  if (different.length === 0)
    return ok(
      others.length === 0
        ? "no other board reports its version"
        : others.length === 1
          ? `the only other board that reports a version runs ${version} too`
          : `all ${others.length} other boards that report a version run ${version} too`,
    );
  const named = different.slice(0, 4).map(([board, other]) => `${board} ${other}`);
  return warn(
    `this board runs ${version}, and other boards run different versions: ${named.join(", ")}${different.length > 4 ? ", …" : ""}`,
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
