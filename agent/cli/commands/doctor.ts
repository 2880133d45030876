import { join } from "node:path";
import { ConfigError } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { noopLogger } from "../../base/logger.ts";
import { nearest } from "../../base/text/nearest.ts";
import { boardFiles } from "../../board/sensors/board-files.ts";
import { defaultFile, etc } from "../../config/load.ts";
import { ApiProbe } from "../../doctor/api-probe.ts";
import { checkIds, checksNamed, examine, type Finding } from "../../doctor/examination.ts";
import type { Patient } from "../../doctor/patient.ts";
import { programRunner } from "../../doctor/programs.ts";
import { findingLines, reportWidth, summaryLine } from "../../doctor/report.ts";
import { askedCredentials, proxiesOf } from "../../process/api-access.ts";
import { configOf, runFolder } from "../../process/load-config.ts";
import { version } from "../../process/version.ts";
import { findStatus, hasEnded, type ReadingBoard, type StatusFinding, thisMachine } from "./status/status-reader.ts";

/** `siteward doctor`: checks this board, its agent and its connections, and prints remedies. Changes nothing. */
export async function run(io: Io, args: Args): Promise<number> {
  const only = args.values.get("only")?.split(",");
  const unknown = only?.find((word) => checksNamed(word).length === 0);
  if (unknown !== undefined) {
    const similar = nearest(unknown, checkIds);
    const hint = similar === undefined ? `the checks are: ${checkIds.join(", ")}` : `did you mean ${similar}?`;
    io.stderr.line(`siteward: doctor: there is no check ${JSON.stringify(unknown)}; ${hint}`);
    return exit.usage;
  }
  if (process.getuid?.() !== 0)
    io.stderr.line("siteward: doctor: not run as root: files that only root may read cannot be checked");
  const { patient, close } = patientOf(io, args.values.get("config"));
  try {
    const chosen = only?.flatMap((word) => checksNamed(word));
    const findings = await examine(patient, { only: chosen, offline: args.flags.has("offline") });
    print(io, args, findings);
    if (io.signal.aborted) return exit.interrupted;
    return codeOf(findings, args.flags.has("warnings-as-errors"));
  } finally {
    close();
  }
}

export function codeOf(findings: readonly Finding[], warningsToo: boolean): number {
  const isBad = findings.some(({ level }) => level === "fail" || (warningsToo && level === "warn"));
  return isBad ? exit.failed : exit.ok;
}

function print({ stdout }: Io, { flags }: Args, findings: readonly Finding[]): void {
  if (flags.has("json")) {
    stdout.json({ schema: "siteward.doctor/1", version, findings }, 2);
    return;
  }
  for (const line of findingLines(findings, reportWidth(stdout))) stdout.line(line);
  stdout.line(summaryLine(findings));
}

/** Everything that the checks examine: the configuration, the status file, and access to this machine and the API. */
export function patientOf(io: Io, file: string | undefined): { readonly patient: Patient; close(): void } {
  const ambient = { clock: io.clock, random: io.random, log: noopLogger };
  const places = { env: io.env, etc };
  const configuration = configurationOf(io, file);
  const config = "loaded" in configuration ? configuration.loaded.config : undefined;
  const api =
    config &&
    new ApiProbe(ambient, {
      credentials: askedCredentials(io, config, ambient),
      proxies: proxiesOf(io, config.api.proxy),
      signal: io.signal,
    });
  const folder = config?.run.folder ?? runFolder(io);
  const machine = thisMachine();
  const found = findStatus(join(folder, "status.json"), machine);
  const patient: Patient = {
    ambient,
    signal: io.signal,
    version,
    ...places,
    files: boardFiles(),
    program: programRunner(io.clock, { path: io.env.PATH, signal: io.signal }),
    configuration,
    status: seenStatus(found, machine),
    api,
  };
  return { patient, close: () => api?.close() };
}

function seenStatus(found: StatusFinding, machine: ReadingBoard): Patient["status"] {
  if (!("status" in found)) return undefined;
  const { status } = found;
  if (found.kind === "fresh") return { status, isFresh: true };
  return { status, isFresh: false, stale: { why: found.why, isGone: hasEnded(status, machine) } };
}

function configurationOf(io: Io, file: string | undefined): Patient["configuration"] {
  try {
    return { loaded: configOf(io, file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems.length > 0 ? error.problems : [`${file ?? defaultFile} cannot be used`] };
  }
}
