import type { Millis } from "../../agent/base/clock.ts";
import { ConfigError } from "../../agent/base/errors.ts";
import { type KubeletSettings, kubeletDefaults } from "../cluster/kubelet.ts";
import type { Workload } from "../cluster/workloads.ts";
import { type Fields, Problems, quoted, type ScenarioText } from "./problems.ts";
import { boardNames, mostBoards, mostZones, type Scenario, zoneNames } from "./scenario.ts";
import { readStep, type Words } from "./step-reader.ts";

/**
 * Reads a scenario from its text; `boards` and `zones` of the command line take precedence over the text. Throws one
 * ConfigError with all problems.
 */
export function readScenario(
  file: string,
  text: ScenarioText,
  given: { readonly boards?: number | undefined; readonly zones?: number | undefined } = {},
): Scenario {
  const problems = new Problems(file, text);
  if (text.value === undefined) throw new ConfigError(problems.found);
  const known = ["name", "description", "boards", "zones", "workloads", "daemons", "config", "kubelet", "steps"];
  const fields = problems.fields([], text.value, known);
  const boards = given.boards ?? problems.integer(["boards"], fields.boards, [1, mostBoards], 3);
  const zones = given.zones ?? problems.integer(["zones"], fields.zones, [1, mostZones], Math.min(2, boards));
  if (zones > boards) problems.at(["zones"], `${zones} zones need at least as many boards, not ${boards}`);
  const workloads = listOf(problems, ["workloads"], fields.workloads).map((value, index) =>
    readWorkload(problems, ["workloads", String(index)], value),
  );
  const daemons = listOf(problems, ["daemons"], fields.daemons).map((value, index) => ({
    name: nameIn(problems, ["daemons", String(index)], problems.fields(["daemons", String(index)], value, ["name"])),
  }));
  const words: Words = {
    boards: boardNames(boards),
    zones: zoneNames(zones),
    workloads: workloads.map(({ name }) => name),
    daemons: daemons.map(({ name }) => name),
  };
  const steps = listOf(problems, ["steps"], fields.steps).flatMap((value, index) =>
    readStep(problems, ["steps", String(index)], value, words),
  );
  const scenario: Scenario = {
    name: typeof fields.name === "string" ? fields.name : file,
    boards,
    zones,
    workloads,
    daemons,
    config: sectionsOf(problems, fields.config),
    kubelet: readKubelet(problems, fields.kubelet),
    steps: steps.sort((a, b) => a.at - b.at),
  };
  if (problems.found.length > 0) throw new ConfigError(problems.found);
  return scenario;
}

/** The sections of the agents' configuration. Their content is validated by the agents' own reader. */
function sectionsOf(problems: Problems, value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Fields;
  problems.at(["config"], `must contain sections of the agent's configuration, not ${quoted(value)}`);
  return {};
}

function readWorkload(problems: Problems, path: readonly string[], value: unknown): Workload {
  const fields = problems.fields(path, value, ["name", "replicas", "toleration", "zone", "port"]);
  const { zone } = fields;
  if (zone !== undefined && typeof zone !== "string")
    problems.at([...path, "zone"], `must be a zone, not ${quoted(zone)}`);
  return {
    name: nameIn(problems, path, fields),
    replicas: problems.integer([...path, "replicas"], fields.replicas, [0, 1000], 1),
    toleration: problems.duration([...path, "toleration"], fields.toleration, 300_000),
    zone: typeof zone === "string" ? zone : undefined,
    port: fields.port === undefined ? undefined : problems.integer([...path, "port"], fields.port, [1, 65_535], 80),
  };
}

function nameIn(problems: Problems, path: readonly string[], { name }: Fields): string {
  if (typeof name === "string" && /^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(name)) return name;
  problems.at([...path, "name"], `must consist of small letters, digits and dashes, not ${quoted(name)}`);
  return "";
}

function readKubelet(problems: Problems, value: unknown): KubeletSettings {
  const fields = problems.fields(["kubelet"], value, ["renew", "look", "report", "start", "finish"]);
  const time = (name: string, fallback: Millis): Millis => problems.duration(["kubelet", name], fields[name], fallback);
  const renew = time("renew", kubeletDefaults.renew);
  return {
    renew,
    // As for a real kubelet, four renewals fit into the Lease duration.
    leaseDuration: 4 * renew,
    look: time("look", kubeletDefaults.look),
    report: time("report", kubeletDefaults.report),
    pods: {
      start: time("start", kubeletDefaults.pods.start),
      finish: time("finish", kubeletDefaults.pods.finish),
    },
  };
}

function listOf(problems: Problems, path: readonly string[], value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  problems.at(path, `must be a list, not ${quoted(value)}`);
  return [];
}
