import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../storage/database/inspection.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import { scrubber } from "../base/text/scrubber.ts";
import { jsonText } from "../base/text/terminal-text.ts";
import { isoTime } from "../base/time/iso-time.ts";
import type { ReadFact } from "../board/facts.ts";
import type { Config } from "../config/settings.ts";
import { settings } from "../config/settings.ts";
import { settingsIn, valueAt } from "../config/values.ts";
import { type Archive, type ArchiveEntry, writeArchive } from "./archive.ts";
import type { Finding } from "./examination.ts";
import type { RunProgram } from "./programs.ts";

/** The sections of the archive, in the order in which support reads them. */
const sectionNames = ["versions", "status", "config", "doctor", "logs", "databases", "board", "unit"] as const;
export type SectionName = (typeof sectionNames)[number];

export interface DiagnosticsDeps {
  readonly version: string;
  readonly config: Config | undefined;
  readonly origins: ReadonlyMap<string, string> | undefined;
  /** Path of status.json. */
  readonly statusFile: string;
  readonly isRunning: boolean;
  readonly read: ReadFact;
  readonly program: RunProgram;
  /** Runs the doctor; undefined to leave its findings out. */
  readonly findings: (() => Promise<readonly Finding[]>) | undefined;
  /** Strings to be redacted. */
  readonly secrets: readonly string[];
  /** The sections to collect; undefined for all. */
  readonly sections?: readonly string[] | undefined;
  /** How far back log lines are included. */
  readonly logsSince: Millis;
}

/** Maximum number of log lines; the newest are kept. */
const maxLines = 20_000;

/** Collects all sections into one archive, with this board's secrets redacted. */
export function collectDiagnostics(
  ambient: Ambient,
  deps: DiagnosticsDeps,
  file: string,
  signal: AbortSignal,
): Promise<Archive> {
  const clean = scrubber(deps.secrets);
  const wanted = (name: SectionName): boolean => deps.sections === undefined || deps.sections.includes(name);
  const entries = sectionNames.filter(wanted).flatMap((name) => entriesOf[name](deps));
  const scrubbed = entries.map(
    (entry): ArchiveEntry => ({
      name: `siteward/${entry.name}`,
      text: async () => {
        // An entry that cannot be collected contains the error; the others are still useful.
        const text = await entry.text().catch((error: unknown) => `cannot be collected: ${String(error)}\n`);
        return text === undefined ? undefined : clean(text);
      },
    }),
  );
  return writeArchive(file, scrubbed, ambient.clock.now(), signal);
}

/** The name of an archive's file, for example "siteward-edge-02-20261120T120005Z.tar.gz". */
export const archiveName = (board: string, wall: number): string =>
  `siteward-${board}-${isoTime(wall).replace(/[-:]|\.\d+/g, "")}.tar.gz`;

type Entries = (deps: DiagnosticsDeps) => readonly ArchiveEntry[];

const one =
  (name: string, text: (deps: DiagnosticsDeps) => Promise<string | undefined> | string | undefined): Entries =>
  (deps) => [{ name, text: async () => text(deps) }];

const entriesOf: Readonly<Record<SectionName, Entries>> = {
  versions: one("versions.json", async ({ version, program, read }) =>
    pretty({
      siteward: version,
      node: process.versions.node,
      v8: process.versions.v8,
      platform: `${process.platform}-${process.arch}`,
      kernel: read("/proc/version")?.trim(),
      os: read("/etc/os-release"),
      systemd: (await program("systemctl", ["--version"]))?.stdout.split("\n")[0],
    }),
  ),
  status: one("status.json", ({ statusFile }) => fileText(statusFile)),
  config: one("config.txt", ({ config, origins }) => config && configText(config, origins)),
  doctor: one("doctor.json", async ({ findings }) => (findings ? pretty(await findings()) : undefined)),
  logs: one("log.txt", logText),
  databases: one("databases.json", ({ config, isRunning }) =>
    config === undefined
      ? undefined
      : pretty(
          Object.fromEntries(
            ["state.db", "cache.db"].map((name) => [
              name,
              inspect(join(config.state.folder, name), isRunning, "counts"),
            ]),
          ),
        ),
  ),
  board: (deps) =>
    ["/proc/meminfo", "/proc/cmdline", "/proc/mounts", "/proc/loadavg", "/proc/pressure/memory", "/proc/pressure/io",
     "/sys/fs/cgroup/cgroup.controllers", "/sys/firmware/devicetree/base/model", "/sys/firmware/devicetree/base/compatible",
    ].map((file) => ({ name: `board${file}`, text: async () => deps.read(file)?.replaceAll("\0", "\n") })), // biome-ignore format: a list of names
  unit: (deps) => [
    {
      name: "unit.txt",
      text: async () => (await deps.program("systemctl", ["cat", "siteward.service"]))?.stdout || undefined,
    },
    {
      name: "unit-state.txt",
      text: async () => (await deps.program("systemctl", ["show", "siteward.service"]))?.stdout || undefined,
    },
  ],
};

/** One line per setting with its origin; durations and sizes as they would be written in the file. */
function configText(config: Config, origins: ReadonlyMap<string, string> | undefined): string {
  const lines = [...settingsIn(settings)].map(({ path, setting }) => {
    const value = valueAt(config, path);
    return `${path}: ${value === undefined ? "(not set)" : setting.show(value)}  # ${origins?.get(path) ?? ""}`;
  });
  return `${lines.join("\n")}\n`;
}

async function logText({ program, logsSince }: DiagnosticsDeps): Promise<string | undefined> {
  const since = `-${Math.ceil(logsSince / 1000)}s`;
  const flags = ["-u", "siteward.service", "--no-pager", "-o", "short-iso", "--since", since, "-n", String(maxLines)];
  const asked = await program("journalctl", flags);
  return asked === undefined ? undefined : asked.stdout || asked.stderr;
}

function fileText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

const pretty = (value: unknown): string => `${jsonText(value, 2)}\n`;
