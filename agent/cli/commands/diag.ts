import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { longestTime, parseTimeFromNow } from "../../base/time/duration.ts";
import { archiveName, collectDiagnostics } from "../../doctor/diagnostics.ts";
import { examine } from "../../doctor/examination.ts";
import { configOf as configFor } from "../../doctor/patient.ts";
import { knownSecrets } from "../../doctor/secrets.ts";
import { runFolder } from "../../process/load-config.ts";
import { version } from "../../process/version.ts";
import { patientOf } from "./doctor.ts";

/** `siteward diag collect`: writes a single archive to send to support. */
export async function collect(io: Io, { values, flags }: Args): Promise<number> {
  const logsSince = parseTimeFromNow(values.get("since") ?? "2d");
  if (logsSince === undefined || logsSince === "too long") {
    const most = logsSince === undefined ? "" : `, at most ${longestTime}`;
    io.stderr.line(`siteward: diag collect: --since takes a duration such as 6h or 2d${most}`);
    return exit.usage;
  }
  const output = values.get("output");
  if (output !== undefined && existsSync(output)) {
    io.stderr.line(`siteward: diag collect: ${output} already exists: choose another name`);
    return exit.failed;
  }
  const into = output && dirname(resolve(output));
  if (into && !existsSync(into)) {
    io.stderr.line(`siteward: diag collect: there is no folder ${into}: create it first`);
    return exit.failed;
  }
  if (process.getuid?.() !== 0)
    io.stderr.line("siteward: diag collect: not run as root: the archive lacks everything that only root may read");
  const { patient, close } = patientOf(io, values.get("config"));
  try {
    const config = configFor(patient);
    const { configuration, ambient, files, program, env, etc } = patient;
    const folder = config?.run.folder ?? runFolder(io);
    const deps = {
      version,
      config,
      origins: "loaded" in configuration ? configuration.loaded.origins : undefined,
      statusFile: join(folder, "status.json"),
      isRunning: patient.status?.isFresh === true,
      read: files.read,
      program,
      findings: () => examine(patient, { offline: flags.has("offline") }),
      secrets: knownSecrets(config, { env, etc }),
      logsSince,
    };
    const file = resolve(output ?? archiveName(config?.board.name ?? io.hostname, io.clock.now().wall));
    const archive = await collectDiagnostics(ambient, deps, file, io.signal);
    io.stdout.line(archive.file);
    io.stdout.line(`  ${archive.bytes} bytes, sha256 ${archive.sha256}`);
    io.stdout.line(`  ${archive.entries.length} files, without secrets; review the archive before you send it`);
    return exit.ok;
  } finally {
    close();
  }
}
