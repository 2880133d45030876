import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../agent/config/load.ts";
import type { Config } from "../../../agent/config/settings.ts";
import { firstMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { noRecollection } from "../../../agent/controllers/node-lifecycle/recollection.ts";
import { budgetAnnotation, encodeBudget } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import type { TermLoopsDeps } from "../../../agent/leading/control-loops.ts";
import type { TermShadow } from "../../../agent/leading/term-shadow.ts";
import { TermWork, type TermWorkDeps } from "../../../agent/leading/term-work.ts";
import { memoryArea } from "../../../agent/loop/memory-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { TestTerm } from "../../support/small-api.ts";
import { defaults } from "../controllers/site-model.ts";

const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });

/** A term in which this board led before, and whose work ends as soon as the loops would be built. */
function setUp(controllers: Partial<Config["controllers"]>, undoneUntil?: number, shadow?: Partial<TermShadow>) {
  const clock = new FakeClock();
  const cleared: string[] = [];
  let loops: TermLoopsDeps | undefined;
  const deps = {
    config: { ...config, controllers: { ...config.controllers, ...controllers } },
    identity: "pi-1_a",
    verdictDeps: { settings: defaults },
    memo: { clear: (area: string) => cleared.push(area) },
    leaderMemo: { beginTerm: () => true, undoneUntil },
    informers: { informer: () => ({ lister: { list: () => [] } }) },
    current: { site: firstMemory, term: { number: 7 }, begin: () => {}, end: () => {}, judgeMemory: () => "no judge" },
    failing: { forget: () => {} },
    holds: { begin: () => {}, end: () => {} },
    controllers: async () => ({
      controlLoops: (_: unknown, built: TermLoopsDeps) => {
        loops = built;
        throw new Error("the story ends here");
      },
    }),
    statusChanged: () => {},
    ...(shadow && { shadow: async () => shadow }),
  } as unknown as TermWorkDeps;
  const work = new TermWork({ clock, random: new SeededRandom(), log: new RecordingLog() }, deps);
  const lead = async (budget = encodeBudget(firstMemory, 0, clock.now())) => {
    const found = { lease: "uid", annotations: { [budgetAnnotation]: budget }, written: clock.now() };
    const term = new TestTerm();
    await expect(work.lead(term, found)).rejects.toThrow("the story ends here");
    term.end();
    return loops;
  };
  return { work, lead, cleared };
}

const shadow = { mode: "shadow" } as const;

describe("what is only pretended in shadow mode is not passed on", () => {
  test("the zone budgets and running taints go from leader to leader while boards are really tainted", async () => {
    const { work, lead } = setUp({});
    // A leader that noticed a restore since inherits what it says about boards only if it names a later term.
    expect(JSON.parse(work.budget() ?? "")).toMatchObject({ term: 7 });
    expect((await lead())?.taintEviction.inherited()).toBeDefined();
  });

  test("not while the judge of boards is in shadow mode, and what an earlier leader left on the Lease is outdated", async () => {
    const { work, lead } = setUp({ nodeLifecycle: shadow });
    // Removed from the Lease, because it becomes outdated until this site really taints boards again.
    expect(work.budget()).toBeNull();
    expect(setUp({ nodeLifecycle: { mode: "off" } }).work.budget()).toBeNull();
    expect((await lead())?.taintEviction.inherited()).toBeUndefined();
  });

  test("nor is what really happened passed on to the controllers of a policy that is only compared", async () => {
    const given = async (isComparison: boolean) => {
      const { lead } = setUp({}, undefined, { isComparison, verdictDeps: (acting) => acting });
      await lead();
      const { nodeLifecycle, taintEviction } = (await lead())?.shadow ?? {};
      return [nodeLifecycle?.inherited?.(), taintEviction?.inherited(), nodeLifecycle?.recalled];
    };
    const compared = await given(true);
    expect(compared).toEqual([undefined, undefined, noRecollection]);
    expect(compared[2]).toBe(noRecollection);
    // A controller in shadow mode takes the place of one that acts, and continues its work.
    const shadowed = await given(false);
    expect(shadowed).not.toContain(undefined);
    expect(shadowed[2]).not.toBe(noRecollection);
  });

  test("stored toleration times end when taint eviction is in shadow mode, as it does not continue them", async () => {
    const acting = setUp({});
    await acting.lead();
    expect(acting.cleared).toEqual([]);
    const shadowed = setUp({ taintEviction: shadow });
    await shadowed.lead();
    expect(shadowed.cleared).toEqual([memoryArea("taint-eviction")]);
  });
});

describe("a budget on the Lease after a restore of the API server", () => {
  const inheritedBy = async (writer: number | undefined, undoneUntil: number | undefined) => {
    const budget = JSON.stringify({
      v: 1,
      term: writer,
      zones: { "zone-1": { state: "partial", level: 0.5, evictions: 3 } },
      boards: { "pi-3": { s: 50, added: "2026-01-01T00:00:00Z" } },
      silent: { "pi-4": { sign: "x", s: 900, lost: true } },
    });
    const { zones, taints, silences } = (await setUp({}, undoneUntil).lead(budget))?.taintEviction.inherited() ?? {};
    return [zones?.get("zone-1")?.evictions, taints?.size, silences?.size];
  };

  test("says nothing about boards if it is from the backup: they may have returned since", async () => {
    expect(await inheritedBy(4, 4)).toEqual([3, 0, 0]);
    expect(await inheritedBy(3, 4)).toEqual([3, 0, 0]);
    expect(await inheritedBy(undefined, 4)).toEqual([3, 0, 0]);
  });

  test("is taken over if it was written since, and by a board that noticed no restore", async () => {
    expect(await inheritedBy(5, 4)).toEqual([3, 1, 1]);
    expect(await inheritedBy(4, undefined)).toEqual([3, 1, 1]);
    expect(await inheritedBy(undefined, undefined)).toEqual([3, 1, 1]);
  });
});
