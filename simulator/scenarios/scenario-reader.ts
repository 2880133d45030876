import { ConfigError } from "../../agent/base/errors.ts";
import { memberOf } from "../../agent/base/json.ts";
import { mapped, object, optional, type Schema, SchemaProblems, text, whole } from "../../agent/base/schema.ts";
import { type KubeletSettings, kubeletDefaults } from "../cluster/kubelet.ts";
import type { Workload } from "../cluster/workloads.ts";
import { anything, items, located, mapping, oneEach, orEmpty, rule, type ScenarioText, time } from "./forms.ts";
import { boardNames, mostBoards, mostZones, type Scenario, zoneNames } from "./scenario.ts";
import { stepForm, type Words } from "./step-form.ts";

const name = text({
  pattern: /^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/,
  expects: "a name of lowercase letters, digits and dashes",
});

const workload: Schema<Workload> = mapped(
  mapping({
    name,
    replicas: optional(whole({ min: 0, max: 1000 })),
    toleration: optional(time),
    zone: optional(text({ expects: "a zone" })),
    port: optional(whole({ min: 1, max: 65_535 })),
  }),
  ({ replicas = 1, toleration = 300_000, zone, ...found }) => ({ ...found, replicas, toleration, zone }),
);

const kubelet: Schema<KubeletSettings> = mapped(
  mapping(oneEach(["renew", "look", "report", "start", "finish"], () => time)),
  ({ start, finish, ...found }) => {
    const { renew, pods, ...others } = { ...kubeletDefaults, ...found };
    // As with a real kubelet, four renewals fit into the Lease duration.
    return {
      ...others,
      renew,
      leaseDuration: 4 * renew,
      pods: { start: start ?? pods.start, finish: finish ?? pods.finish },
    };
  },
);

/** The sections of the agents' configuration. Their content is validated by the agents' own reader. */
const config = orEmpty({ ...object, expects: "sections of the agent's configuration" }, {});

const boardCount = whole({ min: 1, max: mostBoards });
const zoneCount = whole({ min: 1, max: mostZones });

const scenarioForm = (words: Words) =>
  mapping({
    name: optional(anything),
    description: optional(anything),
    boards: optional(boardCount),
    zones: optional(zoneCount),
    workloads: optional(items(workload)),
    daemons: optional(items(mapping({ name }))),
    config: optional(config),
    kubelet: optional(kubelet),
    steps: optional(items(stepForm(words))),
  });

/**
 * Reads a scenario from its text; `boards` and `zones` of the command line take precedence over the file. Throws one
 * ConfigError with all problems.
 */
export function readScenario(
  file: string,
  source: ScenarioText,
  given: { readonly boards?: number | undefined; readonly zones?: number | undefined } = {},
): Scenario {
  // Steps are checked against the names of the site, so these are needed first; problems of the names themselves are
  // found below.
  const boards = given.boards ?? valid(boardCount, memberOf(source.value, "boards")) ?? 3;
  const zones = given.zones ?? valid(zoneCount, memberOf(source.value, "zones")) ?? Math.min(2, boards);
  const words: Words = {
    boards: boardNames(boards),
    zones: zoneNames(zones),
    workloads: namesIn(memberOf(source.value, "workloads")),
    daemons: namesIn(memberOf(source.value, "daemons")),
  };
  const problems = new SchemaProblems(Number.POSITIVE_INFINITY);
  if (zones > boards) problems.addAt("zones", rule(`${zones} zones need at least as many boards, not ${boards}`));
  const found = scenarioForm(words).read(source.value, problems);
  const all = [...source.problems, ...problems.found.map((problem) => located(source, problem))];
  if (found === undefined || all.length > 0) {
    throw new ConfigError(all.map(({ line, message }) => `${file}${line === undefined ? "" : `:${line}`}: ${message}`));
  }
  const { name: title, workloads = [], daemons = [], config: sections = {}, kubelet: pace = kubeletDefaults } = found;
  const steps = (found.steps ?? []).flat().sort((a, b) => a.at - b.at);
  const named = typeof title === "string" ? title : file;
  return { name: named, boards, zones, workloads, daemons, config: sections, kubelet: pace, steps };
}

const valid = <T>(schema: Schema<T>, value: unknown): T | undefined => schema.read(value, new SchemaProblems(0));

const namesIn = (list: unknown): readonly string[] =>
  (Array.isArray(list) ? list : []).map((item) => memberOf(item, "name")).filter((one) => typeof one === "string");
