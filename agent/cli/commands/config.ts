import { basename, dirname, join, resolve } from "node:path";
import { ConfigError } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { memberOf } from "../../base/json.ts";
import { nearest } from "../../base/text/nearest.ts";
import { jsonText } from "../../base/text/terminal-text.ts";
import { profileSchema } from "../../board/profile/profile-schema.ts";
import { apiVersion, checkFile, defaultFile, kind, type Loaded, variableOf } from "../../config/load.ts";
import { fileSchema, markdown, printSchema, example as writeExample } from "../../config/reference.ts";
import type { LeftOut } from "../../config/remote-fit.ts";
import type { Entries, Section, Setting } from "../../config/schema.ts";
import { settings } from "../../config/settings.ts";
import { settingsIn, valueAt } from "../../config/values.ts";
import { leftOutText } from "../../fleet/configuration/config-problems.ts";
import { configOf, type LoadedConfig } from "../../process/load-config.ts";

/** `siteward config show`: prints the configuration in force in the form of a configuration file. */
export const show: Run = async (io, { flags, values }) => {
  const loaded = configOf(io, values.get("config"));
  warn(io, loaded);
  io.stdout.write(flags.has("json") ? asJson(loaded) : asYaml(loaded, flags.has("origin")));
  return exit.ok;
};

export const check: Run = async (io, { words: [file = ""] }) => {
  checkFile(file);
  const leftOut = leftOutWith(io, resolve(file));
  if (leftOut) throw new ConfigError([`${file}: ${leftOutText(leftOut)}`]);
  io.stdout.line(`${file} is valid`);
  return exit.ok;
};

/** The stored fleet settings that could not take effect with this file; undefined if all of them could. */
function leftOutWith(io: Io, file: string): LeftOut | undefined {
  const folder = dirname(file);
  const main = basename(folder) === "conf.d" ? join(dirname(folder), basename(defaultFile)) : file;
  try {
    const { leftOut } = configOf(io, main === defaultFile ? undefined : main);
    // Fleet settings that are lost or unreadable say nothing about this file.
    return leftOut?.version === undefined ? undefined : leftOut;
  } catch (error) {
    // The problem is in another file, which is not checked.
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

export const explain: Run = async (io, { values, words: [path = ""] }) => {
  const entry = entryAt(path);
  if (!entry) {
    const similar = nearest(path, pathsIn(settings));
    const meant = similar === undefined ? "" : `; did you mean ${similar}?`;
    io.stderr.line(`siteward: ${JSON.stringify(path)} is neither a setting nor a section${meant}`);
    return exit.usage;
  }
  const loaded = configOf(io, values.get("config"));
  io.stdout.write(entry.kind === "section" ? sectionText(path, entry, loaded) : settingText(path, entry, loaded));
  return exit.ok;
};

export const reference: Run = async (io) => {
  io.stdout.write(markdown());
  return exit.ok;
};

export const schema: Run = async (io, { flags }) => {
  io.stdout.write(printSchema(flags.has("profile") ? profileSchema() : fileSchema()));
  return exit.ok;
};

export const example: Run = async (io) => {
  io.stdout.write(writeExample());
  return exit.ok;
};

function warn(io: Io, loaded: LoadedConfig): void {
  for (const warning of warningsOf(loaded)) io.stderr.line(`siteward: ${warning}`);
}

const warningsOf = ({ warnings, leftOut }: LoadedConfig): readonly string[] =>
  leftOut ? [...warnings, leftOutText(leftOut)] : warnings;

function asYaml({ config, origins }: Loaded, withOrigin: boolean): string {
  const lines = [`apiVersion: ${apiVersion}`, `kind: ${kind}`];
  const write = (section: Section<Entries>, values: unknown, path: readonly string[]): void => {
    for (const [name, entry] of Object.entries(section.entries)) {
      const [at, value] = [[...path, name], memberOf(values, name)];
      const indent = "  ".repeat(path.length);
      if (entry.kind === "section") {
        lines.push(`${indent}${name}:`);
        write(entry, value, at);
      } else if (value !== undefined) {
        const line = `${indent}${name}: ${entry.show(value)}`;
        lines.push(withOrigin ? `${line.padEnd(44)} # ${origins.get(at.join("."))}` : line);
      }
    }
  };
  write(settings, config, []);
  return `${lines.join("\n")}\n`;
}

function asJson(loaded: LoadedConfig): string {
  const { config, origins, files } = loaded;
  const values = [...settingsIn(settings)].map(({ path, setting }) => {
    const value = valueAt(config, path);
    const shown = value === undefined ? null : typeof value === "number" ? numberOf(setting, value) : value;
    return [path, { value: shown, origin: origins.get(path) }] as const;
  });
  return `${jsonText({ settings: Object.fromEntries(values), files, warnings: warningsOf(loaded) }, 2)}\n`;
}

/** Durations and sizes as text, as in the file; other numbers remain numbers. */
const numberOf = (setting: Setting<unknown>, value: number): unknown =>
  setting.json.type === "string" ? setting.show(value) : value;

function settingText(path: string, setting: Setting<unknown>, { config, origins }: Loaded): string {
  const show = (value: unknown): string => setting.show(value) || "(not set)";
  return [
    `${path}: ${show(valueAt(config, path))}`,
    `  ${setting.sentence}`,
    `  set by    ${origins.get(path)}`,
    `  default   ${show(setting.default)}`,
    `  accepts   ${setting.accepts}`,
    `  variable  ${variableOf(path)}`,
    "",
  ].join("\n");
}

function sectionText(path: string, section: Section<Entries>, { config, origins }: Loaded): string {
  const rows = [...settingsIn(section, path === "" ? [] : path.split("."))].map(({ path: at, setting }) => {
    const value = setting.show(valueAt(config, at)) || "(not set)";
    return `  ${at.padEnd(36)} ${value.padEnd(16)} ${origins.get(at)}\n      ${setting.sentence}`;
  });
  return `${path}: ${section.sentence}\n${rows.join("\n")}\n`;
}

function entryAt(path: string): Setting<unknown> | Section<Entries> | undefined {
  let entry: Setting<unknown> | Section<Entries> | undefined = settings;
  for (const name of path.split(".")) {
    if (entry?.kind !== "section") return undefined;
    entry = Object.hasOwn(entry.entries, name) ? entry.entries[name] : undefined;
  }
  return entry;
}

export function* pathsIn(section: Section<Entries>, path: readonly string[] = []): IterableIterator<string> {
  for (const [name, entry] of Object.entries(section.entries)) {
    yield [...path, name].join(".");
    if (entry.kind === "section") yield* pathsIn(entry, [...path, name]);
  }
}
