import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { isRecord } from "../base/json.ts";
import { nearest } from "../base/text/nearest.ts";
import { codeOf, inWords, readText } from "./read-text.ts";
import { type Config, settings } from "./settings.ts";
import { defaultsOf, doubt, lay, mergeTree, quote, settingsIn, type Values } from "./values.ts";
import { wholeConfig } from "./whole.ts";
import { parseYaml, type YamlDocument } from "./yaml.ts";

/** The folder with the board's own configuration, its credentials and its trusted keys. */
export const etc = "/etc/siteward";
export const defaultFile = `${etc}/siteward.yaml`;
export const apiVersion = "siteward.dev/v1";
export const kind = "AgentConfiguration";

export interface Sources {
  /** The file given on the command line, which must exist. If undefined, the default file is read if it exists. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostname: string;
  /** The firmware profile that fits the board; undefined if there is none. */
  readonly profile: { readonly id: string; readonly settings: unknown } | undefined;
  /** The fleet's settings; undefined if there are none. */
  readonly remote?: { readonly version: number; readonly config: unknown } | undefined;
}

export interface Loaded {
  readonly config: Config;
  /** The origin of each setting's value (see `Origin`), by dotted path. */
  readonly origins: ReadonlyMap<string, string>;
  /** Sentences about values that may be mistakes, but are not errors. */
  readonly warnings: readonly string[];
  /** The files that were read, in this order. */
  readonly files: readonly string[];
}

/**
 * Merges the layers of the configuration, each of which overrides those before it: defaults, firmware profile, file,
 * conf.d/*.yaml next to the file, the fleet's settings, environment variables. Throws a ConfigError with all problems.
 */
export function loadConfig(sources: Sources): Loaded {
  const values = defaultsOf(settings);
  const problems: string[] = [];
  const warnings: string[] = [];

  const { profile } = sources;
  if (profile)
    problems.push(...mergeTree(values, settings, profile.settings, { where: () => `profile ${profile.id}` }));

  const files = filesOf(sources.file, warnings, problems);
  for (const file of files) problems.push(...layFile(values, file));
  const { remote } = sources;
  if (remote)
    problems.push(...mergeTree(values, settings, remote.config, { where: () => `fleet, version ${remote.version}` }));
  problems.push(...layEnvironment(values, sources.env, warnings));
  problems.push(...layNames(values, sources.hostname));

  const config = wholeConfig(values, problems);
  const origins = new Map([...values].map(([path, { origin }]) => [path, origin]));
  return { config, origins, warnings, files };
}

/** Checks one file together with the defaults alone. Throws a ConfigError with all problems of the file. */
export function checkFile(file: string): void {
  const values = defaultsOf(settings);
  wholeConfig(values, layFile(values, file));
}

/** The problems of a firmware profile's settings, checked together with the defaults alone. */
export function profileProblems({ id, settings: tree }: NonNullable<Sources["profile"]>): readonly string[] {
  const values = defaultsOf(settings);
  try {
    wholeConfig(values, mergeTree(values, settings, tree, { where: () => `profile ${id}` }));
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

function layFile(values: Values, file: string): readonly string[] {
  const source = readText(file);
  if ("problem" in source) {
    doubt(values, "");
    return [`${file}: ${source.problem}`];
  }
  const yaml = parseYaml(source.text);
  const problems = yaml.problems.map(
    ({ line, message }) => `${line === undefined ? file : `${file}:${line}`}: ${message}`,
  );
  problems.push(...layDocument(values, file, yaml));
  for (const { path } of yaml.problems) doubt(values, path?.join(".") ?? "");
  return problems;
}

function layDocument(values: Values, file: string, { value, lineOf }: YamlDocument): readonly string[] {
  if (value === undefined) return [];
  if (!isRecord(value)) {
    doubt(values, "");
    return [`${file}: must contain settings, not ${quote(value)}`];
  }
  const where = (path: readonly string[]): string => {
    const line = lineOf(path);
    return line === undefined ? file : `${file}:${line}`;
  };
  const problems: string[] = [];
  const { apiVersion: version, kind: sort, ...tree } = value;
  if (version !== apiVersion) problems.push(`${where(["apiVersion"])}: ${mustSay("apiVersion", apiVersion, version)}`);
  if (sort !== kind) problems.push(`${where(["kind"])}: ${mustSay("kind", kind, sort)}`);
  return [...problems, ...mergeTree(values, settings, tree, { where })];
}

const mustSay = (key: string, expected: string, found: unknown): string =>
  `must say "${key}: ${expected}"${found === undefined ? "" : `, not ${quote(found)}`}`;

/** The environment variable of a setting: SITEWARD_NODE_LIFECYCLE_GRACE_PERIOD for `nodeLifecycle.gracePeriod`. */
export const variableOf = (path: string): string =>
  `SITEWARD_${path
    .replaceAll("iB", "ib")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll(".", "_")
    .toUpperCase()}`;

function layEnvironment(values: Values, env: Sources["env"], warnings: string[]): readonly string[] {
  const problems: string[] = [];
  const known = new Map([...settingsIn(settings)].map(({ path, setting }) => [variableOf(path), { path, setting }]));
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("SITEWARD_") || noSettings.has(name) || text === undefined || text === "") continue;
    const found = known.get(name);
    if (found) {
      lay(values, found.path, found.setting.parseText(text), name, found.setting, text, problems);
    } else {
      // Only a warning, because Kubernetes sets such variables in every pod for a Service named siteward.
      const similar = nearest(name, known.keys());
      warnings.push(`${name} is not a setting${similar ? `; did you mean ${similar}?` : ""}`);
    }
  }
  return problems;
}

/** Variables that are not settings: the systemd unit and its start script use them. */
const noSettings: ReadonlySet<string> = new Set([
  "SITEWARD_NOTIFY_FD",
  "SITEWARD_JOURNAL_FD",
  "SITEWARD_NODE_FLAGS",
  "SITEWARD_HARDENED_FLAGS",
]);

/** Sets the default names of board and Node to the host's name, in lower case as the kubelet does. */
function layNames(values: Values, hostname: string): readonly string[] {
  const host = hostname.toLowerCase();
  const { name } = settings.entries.board.entries;
  const isUnset = (path: string): boolean => values.get(path)?.origin === "default";
  if (isUnset("board.name")) {
    const parsed = name.parse(host);
    if (parsed === undefined)
      return [
        `this host's name ${quote(hostname)} cannot be the board's name; set board.name, which takes ${name.accepts}`,
      ];
    values.set("board.name", { value: parsed, origin: "host name" });
  }
  if (isUnset("board.node")) values.set("board.node", { value: values.get("board.name")?.value, origin: "board.name" });
  return [];
}

function filesOf(named: string | undefined, warnings: string[], problems: string[]): readonly string[] {
  const main = named ?? defaultFile;
  const folder = join(dirname(main), "conf.d");
  const files = named !== undefined || statSync(main, { throwIfNoEntry: false }) ? [main] : [];
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") problems.push(`${folder}: ${inWords(error)}`);
  }
  for (const name of names) {
    if (name.startsWith(".")) continue;
    if (name.endsWith(".yaml")) files.push(join(folder, name));
    else warnings.push(`${join(folder, name)} is ignored, because names of drop-in files end in .yaml`);
  }
  return files;
}
