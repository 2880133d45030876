import { existsSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { mostBoards, mostZones, type Scenario } from "../../../../simulator/scenarios/scenario.ts";
import { readScenario } from "../../../../simulator/scenarios/scenario-reader.ts";
import { shippedScenarios } from "../../../../simulator/scenarios/shipped.ts";
import { isOurKubeconfig } from "../../../../simulator/site-files.ts";
import type { Millis } from "../../../base/clock.ts";
import { ConfigError } from "../../../base/errors.ts";
import type { Args } from "../../../base/io.ts";
import { asRecord, type JsonRecord, memberOf } from "../../../base/json.ts";
import { longestTime, parseTimeFromNow } from "../../../base/time/duration.ts";
import { readText } from "../../../config/read-text.ts";
import { type Config, settings } from "../../../config/settings.ts";
import { defaultsOf, mergeTree } from "../../../config/values.ts";
import { wholeConfig } from "../../../config/whole.ts";
import { parseYaml, type YamlDocument } from "../../../config/yaml.ts";

export interface UpOptions {
  readonly scenario: Scenario;
  /** True if a scenario is played and its outcome checked; otherwise the site just runs. */
  readonly isStory: boolean;
  /** The configuration of the scenario's agents. */
  readonly agents: Config;
  /** How long to run; undefined to run until Ctrl-C, or until the end of the scenario. */
  readonly duration: Millis | undefined;
  /** The port of the API server. */
  readonly port: number;
  /** The site's folder; undefined for a temporary one. */
  readonly folder: string | undefined;
  /** The kubeconfig to write; undefined for one in the site's folder. */
  readonly kubeconfig: string | undefined;
}

/** The site without a scenario: a few pods, a Service for them, and a DaemonSet. */
const defaultSite = "name: site\nworkloads: [{ name: web, replicas: 6, port: 80 }]\ndaemons: [{ name: monitor }]\n";

/** Combines the command line and the scenario. Throws a ConfigError with all problems. */
export function upOptions({ values }: Args): UpOptions {
  const problems: string[] = [];
  const boards = integerOf(values, "boards", [1, mostBoards], problems);
  const zones = integerOf(values, "zones", [1, mostZones], problems);
  const port = integerOf(values, "port", [0, 65_535], problems);
  const folder = values.has("dir") ? resolve(values.get("dir") ?? "") : undefined;
  const duration = durationOf(values.get("for"), problems);
  const kubeconfig = values.get("kubeconfig");
  if (kubeconfig !== undefined && existsSync(kubeconfig) && !isOurs(kubeconfig)) {
    problems.push(`--kubeconfig: ${kubeconfig} exists and was not written by siteward up; it would be overwritten`);
  }
  const missing = kubeconfig === undefined ? undefined : missingFolder(kubeconfig, folder);
  if (missing !== undefined) problems.push(`--kubeconfig: the folder ${missing} does not exist`);
  const named = values.get("scenario");
  const text = textOf(named);
  if ("problem" in text) problems.push(`--scenario: ${text.problem}`);
  if (problems.length > 0 || "problem" in text) throw new ConfigError(problems);
  const file = named ?? "the site";
  const document = parseYaml(text.text);
  const scenario = collected(problems, () => readScenario(file, document, { boards, zones }));
  const agents = collected(problems, () => agentsOf(file, document));
  if (scenario === undefined || agents === undefined) throw new ConfigError(problems);
  return {
    scenario,
    isStory: named !== undefined,
    agents,
    duration,
    port: port ?? 6440,
    folder,
    kubeconfig: kubeconfig === undefined ? undefined : resolve(kubeconfig),
  };
}

/**
 * The kubeconfig's folder if it does not exist. A folder within the site's folder counts as existing, because it will
 * be created.
 */
function missingFolder(kubeconfig: string, folder: string | undefined): string | undefined {
  const above = dirname(resolve(kubeconfig));
  const isOfSite = folder !== undefined && `${above}${sep}`.startsWith(`${folder}${sep}`);
  return isOfSite || existsSync(above) ? undefined : above;
}

function isOurs(kubeconfig: string): boolean {
  const read = readText(kubeconfig);
  return "text" in read && isOurKubeconfig(read.text);
}

function textOf(named: string | undefined): { readonly text: string } | { readonly problem: string } {
  if (named === undefined) return { text: defaultSite };
  const shipped = shippedScenarios.get(named);
  if (shipped !== undefined) return { text: shipped };
  const read = readText(named);
  if ("text" in read) return read;
  const names = [...shippedScenarios.keys()].join(", ");
  return { problem: `${named} ${read.problem}; these scenarios ship with siteward: ${names}` };
}

/** Returns what `read` returns; undefined if it fails, after adding the reasons to `problems`. */
function collected<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** The configuration for the agents. Problems are reported here with line numbers, not only in each agent's log. */
function agentsOf(file: string, document: YamlDocument): Config {
  const where = (path: readonly string[]): string => {
    const line = document.lineOf(["config", ...path]);
    return line === undefined ? file : `${file}:${line}`;
  };
  const values = defaultsOf(settings);
  return wholeConfig(values, mergeTree(values, settings, sectionsIn(document), { where }));
}

/** The scenario's `config`; empty if it is not an object, which the scenario reader reports. */
const sectionsIn = ({ value }: YamlDocument): JsonRecord => asRecord(memberOf(value, "config"));

function integerOf(
  values: ReadonlyMap<string, string>,
  name: string,
  [least, most]: readonly [number, number],
  problems: string[],
): number | undefined {
  const text = values.get(name);
  if (text === undefined) return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  problems.push(`--${name} takes a number from ${least} to ${most}, not ${JSON.stringify(text)}`);
  return undefined;
}

function durationOf(text: string | undefined, problems: string[]): Millis | undefined {
  if (text === undefined) return undefined;
  const duration = parseTimeFromNow(/^\d+$/.test(text) ? `${text}s` : text);
  if (duration === undefined) problems.push(`--for takes a time such as 5m, not ${JSON.stringify(text)}`);
  if (duration !== "too long") return duration;
  problems.push(`--for takes at most ${longestTime}, not ${JSON.stringify(text)}`);
  return undefined;
}
