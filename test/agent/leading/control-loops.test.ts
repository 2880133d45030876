import { expect, test } from "vitest";
import { type Config, settings } from "../../../agent/config/settings.ts";
import { defaultsOf, mergeTree, treeOf } from "../../../agent/config/values.ts";
import { registry, workloadRegistry } from "../../../agent/controllers/registry.ts";
import { workloadsOf } from "../../../agent/controllers/workloads.ts";
import { controlLoops, type TermLoopsDeps } from "../../../agent/leading/control-loops.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const ambient = { clock: new FakeClock(), random: new SeededRandom(1), log: new RecordingLog() };
const modes = Object.keys(treeOf(settings, defaultsOf(settings)).controllers);

function configWith(mode: "act" | "off"): Config {
  const values = defaultsOf(settings);
  const controllers = Object.fromEntries(modes.map((name) => [name, { mode }]));
  const problems = mergeTree(
    values,
    settings,
    { controllers, daemonSet: { bind: true } },
    { where: (at) => at.join(".") },
  );
  expect(problems).toEqual([]);
  return treeOf(settings, values);
}

/** The names of the loops. Opening a loop starts nothing, so the parts that a running loop needs are left out. */
function loopsWith(mode: "act" | "off"): readonly string[] {
  const config = configWith(mode);
  const judging = { settings: { monitorPeriod: 5000 } };
  const deps = { config, workloads: workloadsOf(config), nodeLifecycle: judging, taintEviction: judging, podGC: {} };
  return controlLoops(ambient, deps as unknown as TermLoopsDeps).loops.map(({ name }) => name);
}

test("with every controller turned on, each controller of the registries has a loop", () => {
  expect(modes.length).toBeGreaterThan(5);
  const names = [...Object.keys(registry), ...Object.keys(workloadRegistry)];
  expect([...loopsWith("act")].sort()).toEqual(names.sort());
});

test("with every controller turned off, no loop runs", () => {
  expect(loopsWith("off")).toEqual([]);
});
