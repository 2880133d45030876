import { existsSync } from "node:fs";
import { join } from "node:path";
import { roomIn, vacuum } from "../../storage/give-back.ts";
import { type Inspection, inspect, journalTail } from "../../storage/inspection.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { journalIntegrity } from "../doctor/check-journal.ts";
import { findingLines } from "../doctor/report.ts";
import { patientOf } from "./doctor.ts";
import { exit } from "./exit-codes.ts";
import type { Io, Run } from "./io.ts";
import { configOf } from "./load-config.ts";
import { findStatus, thisMachine } from "./status-reader.ts";
import { size } from "./status-rows.ts";

const files = ["state.db", "cache.db"] as const;

/** Where the databases lie, and whether an agent has them open. */
function place(io: Io, file: string | undefined): { readonly folder: string; readonly isInUse: boolean } {
  const { config } = configOf(io, file);
  const found = findStatus(join(config.run.folder, "status.json"), thisMachine());
  return { folder: config.state.folder, isInUse: found.kind === "fresh" };
}

export const stats: Run = async (io, { flags, values }) => {
  const { folder, isInUse } = place(io, values.get("config"));
  const found = files.map((name) => [join(folder, name), inspect(join(folder, name), isInUse)] as const);
  if (flags.has("json")) io.stdout.write(`${JSON.stringify(Object.fromEntries(found), undefined, 2)}\n`);
  else for (const [file, inspection] of found) io.stdout.write(statsText(file, inspection));
  return found.some(([, { kind }]) => kind === "damaged" || kind === "unreadable") ? exit.failed : exit.ok;
};

function statsText(file: string, found: Inspection): string {
  switch (found.kind) {
    case "absent":
      return `${file}: not there yet\n`;
    case "busy":
      return `${file}: its agent has it alone; siteward status tells of it\n`;
    case "sound": {
      const { format, fileBytes, walBytes, freeBytes, tables } = found;
      const rows = tables.map(({ name, rows }) => `  ${name.padEnd(16)} ${rows} rows\n`);
      return `${file}: ${size(fileBytes)}, log ${size(walBytes)}, ${size(freeBytes)} of it free, format ${format}\n${rows.join("")}`;
    }
    default:
      return `${file}: ${found.kind}: ${found.why}\n`;
  }
}

export const tail: Run = async (io, { flags, values }) => {
  const most = Number(values.get("lines") ?? "20");
  if (!Number.isSafeInteger(most) || most < 1) {
    io.stderr.write("siteward: journal tail: --lines takes a number from 1 on\n");
    return exit.usage;
  }
  const { folder, isInUse } = place(io, values.get("config"));
  const file = join(folder, "cache.db");
  if (!existsSync(file)) {
    io.stderr.write(`siteward: ${file} is not there yet\n`);
    return exit.failed;
  }
  const rows = journalTail(file, isInUse, most);
  if (rows.length === 0 && !flags.has("json")) io.stdout.write("nothing waits\n");
  for (const row of rows) {
    const { seq, type, resource, key, version } = row;
    io.stdout.write(flags.has("json") ? `${JSON.stringify(row)}\n` : `${seq} ${type} ${resource} ${key} @${version}\n`);
  }
  return exit.ok;
};

export const verify: Run = async (io, { values }) => {
  const { patient, close } = patientOf(io, values.get("config"));
  try {
    const verdict = journalIntegrity(patient);
    const look = { colour: false, width: Math.max(60, Math.min(io.stdout.columns, 120)) };
    io.stdout.write(`${findingLines([{ id: "journal.integrity", ...verdict }], look).join("\n")}\n`);
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
  if (!files.some((name) => existsSync(join(folder, name)))) {
    io.stdout.write(`there is nothing in ${folder} yet\n`);
    return exit.ok;
  }
  const { config } = configOf(io, args.values.get("config"));
  const opened = StateFolder.open({ folder, pragmas: config.cache.sqlite, stamp: String(io.clock.now().wall) });
  for (const { database } of [opened.state, opened.cache]) {
    const before = roomIn(database).bytes;
    vacuum(database);
    io.stdout.write(`${database.file}: ${size(before)} before, ${size(roomIn(database).bytes)} now\n`);
  }
  opened.close();
  return exit.ok;
};
