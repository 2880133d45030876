import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import type { JsonRecord } from "../base/json.ts";
import { readFact } from "../board/read-fact.ts";
import type { DiagnosticsOptions } from "../commands/desk/board-controls.ts";
import type { Effect } from "../commands/desk/controls.ts";
import { etc } from "../config/load.ts";
import type { CompanionDeps } from "./companion.ts";

const defaultLogsSince: Millis = 2 * 86_400_000;

/** Only the newest archives are kept, to save space. */
const maxArchives = 3;

/**
 * Executes the command `diagnostics.collect`: builds the archive of `siteward diag collect` within the agent and
 * uploads it if requested. Leaves out the doctor's findings, because the doctor would send requests to this agent and
 * the API server.
 */
export const collectDiagnostics =
  ({ ambient, controls, io, version }: CompanionDeps) =>
  async (
    { sections, logsSince = defaultLogsSince, upload }: DiagnosticsOptions,
    progress: (done: JsonRecord) => void,
    signal: AbortSignal,
  ): Promise<Effect> => {
    const { config, origins } = controls.loaded;
    const [{ archiveName, collectDiagnostics: collect }, { programRunner }, { knownSecrets }] = await Promise.all([
      import("../doctor/diagnostics.ts"),
      import("../doctor/programs.ts"),
      import("../doctor/secrets.ts"),
    ]);
    const folder = join(config.state.folder, "diagnostics");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    makeRoom(folder);
    const { file, bytes, sha256, entries } = await collect(
      ambient,
      {
        ...{ version, config, origins, sections, logsSince },
        statusFile: join(config.run.folder, "status.json"),
        isRunning: true,
        read: readFact,
        program: programRunner(ambient.clock, { path: io.env.PATH, signal }),
        findings: undefined,
        secrets: knownSecrets(config, { env: io.env, etc }),
      },
      join(folder, archiveName(config.board.name, ambient.clock.now().wall)),
      signal,
    );
    const archive = { path: file, size: bytes, sha256, files: entries.length };
    if (!upload) return { outcome: "done", result: archive };
    progress({ ...archive, uploading: upload.host });
    try {
      const status = await put(upload, readFileSync(file), signal);
      if (status >= 200 && status < 300) return { outcome: "done", result: { ...archive, uploaded: upload.host } };
      return failed(`${upload.host} answered with status ${status}`, archive);
    } catch (error) {
      ambient.log.warn("diagnostics upload failed", { host: upload.host, error });
      return failed(sentenceOf(error), archive);
    }
  };

const failed = (message: string, result: JsonRecord): Effect => ({
  outcome: "failed",
  code: 502,
  error: "upload",
  message,
  result,
});

/**
 * Deletes partial archives, and complete ones except the newest few, to make room for another one. Only one collection
 * runs at a time.
 */
export function makeRoom(folder: string): void {
  const names = readdirSync(folder).sort();
  const archives = names.filter((name) => name.endsWith(".tar.gz"));
  const outdated = archives.slice(0, Math.max(0, archives.length - maxArchives + 1));
  for (const name of [...outdated, ...names.filter((one) => one.endsWith(".part"))]) rmSync(join(folder, name));
}

/**
 * Uploads the archive. Does not follow redirects, which could lead to any host. Does not use Node's fetch, which needs
 * WebAssembly.
 */
async function put(url: URL, archive: Uint8Array, signal: AbortSignal): Promise<number> {
  const { request } = await import("node:https");
  return await new Promise((resolve, reject) => {
    const headers = { "content-type": "application/gzip", "content-length": archive.length };
    const sent = request(url, { method: "PUT", headers, signal, agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
      response.once("error", reject);
    });
    sent.once("error", reject);
    sent.end(archive);
  });
}
