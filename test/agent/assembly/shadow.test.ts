import { describe, expect, test } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import {
  type ActCounter,
  type ExecutorParts,
  type TermComparisonDeps,
  type TermShadowDeps,
  termComparison,
  termShadow,
} from "../../../agent/assembly/shadow.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import { firstMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { lifecycleSettings } from "../../../agent/controllers/node-lifecycle/settings.ts";
import type { DecidedAct } from "../../../agent/decisions/decision-book.ts";
import type { ActLimits } from "../../../agent/holds/act-limit.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import { ShadowClient } from "../../../agent/shadow/shadow-client.ts";
import { node, taint } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { TestTerm } from "../../support/small-api.ts";
import { defaults } from "../controllers/site-model.ts";
import { SiteInMemory } from "../shadow/site-in-memory.ts";

const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });
const limits: ActLimits = { acts: () => 1, namespaces: () => new Set(), shareOf: () => 1 };

function setUp(hasValve: boolean, controllers: Partial<Config["controllers"]>) {
  const clock = new FakeClock();
  const site = new SiteInMemory(clock);
  const seen: DecidedAct[] = [];
  const given: { executor?: [ActCounter | undefined, ExecutorParts]; valve?: ActCounter | undefined } = {};
  const shadow = termShadow({ clock, random: new SeededRandom(), log: new RecordingLog() }, {
    config: { ...config, controllers: { ...config.controllers, ...controllers } },
    current: { site: undefined },
    reader: site,
    uncontested: site,
    decisions: { seen: (act: DecidedAct) => seen.push(act) },
    hasValve,
    executorOf: (...parts: [ActCounter | undefined, ExecutorParts]) => {
      given.executor = parts;
    },
    valveOf: (counter: ActCounter | undefined) => {
      given.valve = counter;
    },
  } as unknown as TermShadowDeps);
  const boardIsTainted = async () => {
    await site.put(nodes, node("pi-3"));
    await site.put(nodes, node("pi-3", { conditions: { Ready: "Unknown" }, taints: [taint("unreachable:NoExecute")] }));
  };
  return { shadow, seen, given, boardIsTainted };
}

test("controllers in shadow mode have a valve of their own, a client that does not send, and announce nothing", async () => {
  const { shadow, given } = setUp(true, {});
  const [counter, parts] = given.executor ?? [];
  expect(parts?.client).toBeInstanceOf(ShadowClient);
  expect(parts?.events.record({} as never, new TestTerm())).toBeUndefined();
  expect(given.valve).toBe(counter);
  await expect(counter?.admit("act", limits)).rejects.toThrow("does not lead");
  const term = new TestTerm();
  const running = shadow.run(term, () => false);
  (await counter?.admit("act", limits))?.("done");
  await expect(counter?.admit("another", limits)).rejects.toThrow("safety valve");
  term.end();
  await running;
  await expect(counter?.admit("third", limits)).rejects.toThrow("does not lead");
});

test("under policy kubernetes they have no valve, as others have none", () => {
  const { given } = setUp(false, {});
  expect([given.executor?.[0], given.valve]).toEqual([undefined, undefined]);
});

test.each<[Partial<Config["controllers"]>, readonly string[]]>([
  [{ nodeLifecycle: { mode: "shadow" } }, ["board-marked", "board-tainted"]],
  [{ taintEviction: { mode: "shadow" } }, []],
])(
  "real acts are recorded during a term, if they are those of a controller in shadow mode: %o",
  async (modes, acts) => {
    const { shadow, seen, boardIsTainted } = setUp(true, modes);
    const term = new TestTerm();
    const running = shadow.run(term, () => false);
    await boardIsTainted();
    term.end();
    await running;
    await boardIsTainted();
    expect(seen.map(({ grounds }) => grounds.act)).toEqual(acts);
  },
);

describe("a policy that is only compared", () => {
  function compare() {
    const clock = new FakeClock();
    const site = new SiteInMemory(clock);
    const seen: DecidedAct[] = [];
    const given: ExecutorParts[] = [];
    const [ofActing, ofCompared] = ["alive", "dead"].map((verdict) => ({
      ...firstMemory,
      boards: new Map([["pi-3", { verdict: { verdict, rule: "" } }]]),
    }));
    const comparison = termComparison({ clock, random: new SeededRandom(), log: new RecordingLog() }, {
      config,
      current: { site: ofActing, judgeMemory: () => ofActing, comparedMemory: () => ofCompared },
      reader: site,
      uncontested: site,
      decisions: { seen: (act: DecidedAct) => seen.push(act) },
      executorOf: (parts: ExecutorParts) => void given.push(parts),
      // Setting up a comparison runs nothing, so the parts that only a running one needs are left out.
    } as unknown as TermComparisonDeps);
    return { comparison, site, seen, given, ofActing, ofCompared };
  }

  test("judges by its own memory, without the holds, the valve and the LAN answers of the one that acts", () => {
    const { comparison, ofActing, ofCompared } = compare();
    const acting = {
      settings: defaults,
      judge: () => ofActing as never,
      holds: () => noHolds,
      valve: () => undefined as never,
      wordOf: () => undefined,
    };
    const { settings, judge, ...more } = comparison.verdictDeps(acting);
    expect(comparison.isComparison).toBe(true);
    expect(settings).toEqual({ ...lifecycleSettings(config), policy: "kubernetes" });
    expect(judge()).toBe(ofCompared);
    expect(more).toEqual({});
  });

  test("sends and announces nothing, and records what really happened with its own verdict", async () => {
    const { comparison, site, seen, given } = compare();
    expect(given[0]?.client).toBeInstanceOf(ShadowClient);
    expect(given[0]?.events.record({} as never, new TestTerm())).toBeUndefined();
    const term = new TestTerm();
    const running = comparison.run(term, () => false);
    await site.put(nodes, node("pi-3"));
    await site.put(nodes, node("pi-3", { conditions: { Ready: "Unknown" } }));
    term.end();
    await running;
    const because = { kind: "seen", verdict: "dead", rule: "" };
    expect(seen.map(({ grounds }) => grounds)).toEqual([{ act: "board-marked", board: "pi-3", because, gate: {} }]);
  });
});
