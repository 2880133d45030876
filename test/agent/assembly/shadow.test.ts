import { expect, test } from "vitest";
import { nodes } from "../../../agent/api/resources.ts";
import {
  type ActCounter,
  type ExecutorParts,
  type TermShadowDeps,
  termShadow,
} from "../../../agent/assembly/shadow.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import type { DecidedAct } from "../../../agent/decisions/decision-book.ts";
import type { ActLimits } from "../../../agent/holds/act-limit.ts";
import { ShadowClient } from "../../../agent/shadow/shadow-client.ts";
import { node, taint } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { TestTerm } from "../../support/small-api.ts";
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
