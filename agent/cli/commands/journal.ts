import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { type Compaction, compactFile } from "../../../storage/database/compaction.ts";
import { type Inspection, inspect, journalTail } from "../../../storage/database/inspection.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { journalIntegrity } from "../../doctor/checks/journal.ts";
import { findingLines, reportWidth } from "../../doctor/report.ts";
import { configOf } from "../../process/load-config.ts";
import { patientOf } from "./doctor.ts";
import { findStatus, thisMachine } from "./status/status-reader.ts";
import { size } from "./status/status-rows.ts";

const files = ["state.db", "cache.db"] as const;

/**
 * The folder of the databases, and whether a running agent uses them. Throws if this user is not allowed to read the
 * folder.
 */
function place(io: Io, file: string | undefined): { readonly folder: string; readonly isInUse: boolean } {
  const { config } = configOf(io, file);
  const found = findStatus(join(config.run.folder, "status.json"), thisMachine());
  // Checked here, so that a missing permission is not reported as a damaged database.
  if (existsSync(config.state.folder)) accessSync(config.state.folder, constants.R_OK | constants.X_OK);
  return { folder: config.state.folder, isInUse: found.kind === "fresh" };
}

export const stats: Run = async (io, { flags, values }) => {
  const { folder, isInUse } = place(io, values.get("config"));
  const found = files.map((name) => [join(folder, name), inspect(join(folder, name), isInUse)] as const);
  if (flags.has("json")) io.stdout.json(Object.fromEntries(found), 2);
  else for (const [file, inspection] of found) io.stdout.write(statsText(file, inspection));
  return found.some(([, { kind }]) => kind === "damaged" || kind === "unreadable") ? exit.failed : exit.ok;
};

function statsText(file: string, found: Inspection): string {
  if (found.kind !== "sound") return faultText(file, found);
  const { format, fileBytes, walBytes, freeBytes, tables } = found;
  const rows = tables.map(({ name, rows }) => `  ${name.padEnd(16)} ${rows} rows\n`);
  return `${file}: ${size(fileBytes)} (${size(freeBytes)} free), log ${size(walBytes)}, format ${format}\n${rows.join("")}`;
}

function faultText(file: string, found: Exclude<Inspection, { readonly kind: "sound" }>): string {
  switch (found.kind) {
    case "absent":
      return `${file}: does not exist yet\n`;
    case "busy":
      return `${file}: locked by the agent; see siteward status\n`;
    default:
      return `${file}: ${found.kind}: ${found.why}\n`;
  }
}

export const tail: Run = async (io, { flags, values }) => {
  const most = Number(values.get("lines") ?? "20");
  if (!Number.isSafeInteger(most) || most < 1) {
    io.stderr.line("siteward: journal tail: --lines takes a number of at least 1");
    return exit.usage;
  }
  const { folder, isInUse } = place(io, values.get("config"));
  const file = join(folder, "cache.db");
  const rows = journalTail(file, isInUse, most);
  if ("kind" in rows) {
    io.stderr.write(`siteward: ${faultText(file, rows)}`);
    return rows.kind === "absent" ? exit.ok : exit.failed;
  }
  if (rows.length === 0 && !flags.has("json")) io.stdout.line("no changes are waiting");
  for (const row of rows) {
    const { seq, type, resource, key, version } = row;
    if (flags.has("json")) io.stdout.json(row);
    else io.stdout.line(`${seq} ${type} ${resource} ${key} @${version}`);
  }
  return exit.ok;
};

export const verify: Run = async (io, { values }) => {
  place(io, values.get("config"));
  const { patient, close } = patientOf(io, values.get("config"));
  try {
    const verdict = journalIntegrity(patient);
    const finding = { id: "journal.integrity", ...verdict };
    for (const line of findingLines([finding], reportWidth(io.stdout))) io.stdout.line(line);
    return verdict.level === "ok" ? exit.ok : exit.failed;
  } finally {
    close();
  }
};

export const compact: Run = async (io, args) => {
  const { folder, isInUse } = place(io, args.values.get("config"));
  if (isInUse) {
    const { run } = await import("./cmd.ts");
    const { config } = configOf(io, args.values.get("config"));
    const socket = join(config.run.folder, "ctl.sock");
    const values = new Map([
      ["reason", "siteward journal compact"],
      ["socket", socket],
    ]);
    return await run(io, { flags: new Set(), values, words: ["journal.compact", '{"vacuum":true}'] });
  }
  const done = files.map((name) => [join(folder, name), compactFile(join(folder, name))] as const);
  for (const [file, how] of done) io.stdout.write(compactText(file, how));
  return done.every(([, { kind }]) => kind === "compacted" || kind === "absent") ? exit.ok : exit.failed;
};

const compactText = (file: string, how: Compaction): string =>
  how.kind === "compacted" ? `${file}: ${size(how.before)} before, ${size(how.after)} now\n` : faultText(file, how);
