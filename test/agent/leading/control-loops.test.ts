import { afterEach, expect, test, vi } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import { type Config, settings } from "../../../agent/config/settings.ts";
import { defaultsOf, mergeTree, treeOf } from "../../../agent/config/values.ts";
import { registry, workloadRegistry } from "../../../agent/controllers/registry.ts";
import { workloadsOf } from "../../../agent/controllers/workloads.ts";
import { controlLoops, type TermLoopsDeps } from "../../../agent/leading/control-loops.ts";
import { FairTurns } from "../../../agent/loop/fair-turns.ts";
import { node } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { TestTerm } from "../../support/small-api.ts";
import { SmallCaches } from "../election/support/caches.ts";

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

afterEach(() => void vi.restoreAllMocks());

test("with every controller turned on, each controller of the registries has a loop", () => {
  expect(modes.length).toBeGreaterThan(5);
  const names = [...Object.keys(registry), ...Object.keys(workloadRegistry)];
  expect([...loopsWith("act")].sort()).toEqual(names.sort());
});

test("with every controller turned off, no loop runs", () => {
  expect(loopsWith("off")).toEqual([]);
});

test("loops that act wait neither for the resync of a compared one nor for it to map a change", async () => {
  const clock = new FakeClock();
  const caches = new SmallCaches();
  const config = configWith("act");
  const judging = { settings: { monitorPeriod: 5000 } };
  const parts = { nodeLifecycle: judging, taintEviction: judging, podGC: {} };
  const deps = {
    config,
    workloads: [],
    ...parts,
    uncontested: caches,
    shadow: { ...parts, caches, isComparison: true },
  };
  // The loops have no workloads, so the parts that these need are left out.
  const { loops, compared } = controlLoops({ ...ambient, clock }, deps as unknown as TermLoopsDeps);
  const taintsOf = (all: typeof loops = []) => all.filter(({ name }) => name === "node-taints");
  const lanes: string[] = [];
  const { run } = FairTurns.prototype;
  vi.spyOn(FairTurns.prototype, "run").mockImplementation(function <T>(
    this: FairTurns,
    ...args: Parameters<typeof run>
  ) {
    lanes.push(args[1]);
    // The lane of what is only compared gets no turn.
    return args[1] === "events" ? new Promise<T>(() => {}) : (run.apply(this, args) as T);
  });
  const term = new TestTerm();
  const [other] = taintsOf(compared?.loops);
  const [acting] = taintsOf(loops);
  void other?.run(term);
  void acting?.run(term);
  await clock.settle();
  expect([lanes, acting?.stats(clock.now()).state]).toEqual([["events", "boards"], "running"]);
  caches.of(nodes).add(node("pi-3"));
  expect(lanes.slice(2)).toEqual(["boards", "boards"]);
  term.end();
});
