import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { SystemClock } from "../../../agent/base/clock.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { boardFiles } from "../../../agent/board/sensors/board-files.ts";
import { resolvedCredentials } from "../../../agent/client/credentials/credential-resolution.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { ApiProbe } from "../../../agent/doctor/api-probe.ts";
import type { Patient } from "../../../agent/doctor/patient.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

export const ambient = { clock: new SystemClock(), random: new SeededRandom(), log: noopLogger };

/** A folder of a test that goes away with it. */
export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), "siteward-doctor-"));

  file(name: string): string {
    return path.join(this.path, name);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A board with everything of its own in one folder; what a test is about is said by variables of the environment. */
export function patient(
  folder: Folder,
  changes: Partial<Patient> = {},
  settings: Readonly<Record<string, string>> = {},
): Patient & { readonly api: ApiProbe } {
  const etc = folder.file("etc");
  const env = {
    SITEWARD_STATE_FOLDER: folder.file("state"),
    SITEWARD_RUN_FOLDER: folder.file("run"),
    SITEWARD_LEADER_RETRY: "1s",
    SITEWARD_LEADER_RENEW_DEADLINE: "4s",
    SITEWARD_LEADER_DURATION: "6s",
    HOME: folder.path,
    ...settings,
  };
  const loaded = loadConfig({ file: undefined, env, hostname: "pi-3", profile: undefined });
  const { signal } = new AbortController();
  const places = { env: { HOME: folder.path }, etc };
  const credentials = resolvedCredentials(ambient, { api: loaded.config.api, asker: "person", places });
  return {
    ambient,
    signal,
    version: "0.1.0",
    ...places,
    files: boardFiles(),
    program: async () => undefined,
    configuration: { loaded: { ...loaded, profile: undefined, leftOut: undefined } },
    status: undefined,
    ...changes,
    api: new ApiProbe(ambient, { credentials, proxies: { proxy: undefined, except: undefined }, signal }),
  };
}
