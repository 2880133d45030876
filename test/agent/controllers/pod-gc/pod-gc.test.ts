import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { nodes, pods } from "../../../../agent/api/resources.ts";
import { firstMemory, type SiteMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { podGC } from "../../../../agent/controllers/pod-gc/controller.ts";
import { decide, firstGcMemory, type GcMemory, type GcState } from "../../../../agent/controllers/pod-gc/decide.ts";
import { firstToGo } from "../../../../agent/controllers/pod-gc/ended.ts";
import { freezeKey, type HoldScope, noHolds } from "../../../../agent/holds/holds.ts";
import { noQuarantine } from "../../../../agent/judgement/link.ts";
import type { ControlLoop } from "../../../../agent/loop/control-loop.ts";
import { lifecycleSettings } from "../../../replay/settings.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";
import { node, pod } from "../../../support/builders.ts";

/*
 * The rules themselves stand as cases in test/cases/GC. Here is what a case cannot say: who judges the boards, thousands of
 * pods, what is asked and written besides.
 */

const ended = (name: string, more: { at?: string; evicted?: boolean; namespace?: string } = {}): Pod => {
  const base = pod(name, more.namespace === undefined ? {} : { namespace: more.namespace });
  return {
    ...base,
    metadata: { ...base.metadata, creationTimestamp: more.at ?? "2026-01-01T00:00:00Z" },
    status: { phase: "Failed", ...(more.evicted && { reason: "Evicted" }) },
  };
};

describe("of the pods that have run to their end", () => {
  test.each<[string, readonly Pod[], number, readonly string[]]>([
    ["none is asked for", [ended("a")], 0, []],
    ["there are none", [], 3, []],
    ["fewer than asked for", [ended("a")], 3, ["a"]],
    ["the oldest", [ended("a", { at: "2026-01-01T00:00:01Z" }), ended("b")], 1, ["b"]],
    ["the same second", [ended("b"), ended("a"), ended("c")], 2, ["a", "b"]],
    [
      "an evicted one before all older ones",
      [ended("old", { at: "2020-01-01T00:00:00Z" }), ended("e", { evicted: true })],
      1,
      ["e"],
    ],
    [
      "fractions of seconds, as other tools write them",
      [ended("later", { at: "2026-01-01T00:00:00.5Z" }), ended("sooner")],
      1,
      ["sooner"],
    ],
  ])("%s", (_, found, count, first) => {
    expect(firstToGo(found, count)).toEqual(first.map((name) => `default/${name}`));
  });
});

/** A site with the garbage collection on it. */
class GcSite {
  readonly site = new Site(new CaseTime());
  judge: SiteMemory | "by nobody" | undefined = "by nobody";
  holds = noHolds;
  readonly #loop: ControlLoop<GcState, GcMemory>;

  constructor(threshold = 0) {
    const sight = { settings: lifecycleSettings({}), judge: () => this.judge, holds: () => this.holds };
    this.#loop = this.site.loopOf(podGC({ sight, terminatedThreshold: threshold }));
  }

  async run(untilMs: number): Promise<void> {
    await this.site.approach(untilMs);
    await this.site.settle();
  }

  async begin(): Promise<void> {
    this.site.start(this.#loop);
    await this.site.settle();
  }

  put(...objects: readonly (Node | Pod)[]): void {
    for (const object of objects) {
      this.site.api.put(object.metadata.namespace === undefined ? nodes : pods, object);
    }
  }

  get left(): readonly string[] {
    return this.site.api.all(pods).map(keyOf);
  }
}

const orphan = (name: string): Pod => pod(name, { on: "gone" });
const goingUnbound = (name: string): Pod => pod(name, { deletionTimestamp: "2026-01-01T00:00:00Z" });

describe("nothing is deleted", () => {
  test("before those who judge the boards have looked once", async () => {
    const gc = new GcSite();
    gc.judge = undefined;
    gc.put(goingUnbound("a"));
    await gc.begin();
    await gc.run(30_000);
    expect(gc.left).toEqual(["default/a"]);
    gc.judge = firstMemory;
    await gc.run(40_000);
    expect(gc.left).toEqual([]);
  });

  test("in the quarantine after an outage, and then it is", async () => {
    const gc = new GcSite();
    const restoredAt = { mono: 0, wall: 0 };
    gc.judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt } };
    gc.put(goingUnbound("a"), orphan("b"));
    await gc.begin();
    await gc.run(100_000);
    expect(gc.left).toEqual(["default/a", "default/b"]);
    gc.judge = { ...firstMemory, quarantine: { ...noQuarantine, restoredAt, releasedAt: { mono: 100_000, wall: 0 } } };
    await gc.run(120_000);
    expect(gc.left).toEqual(["default/b"]);
    await gc.run(160_000);
    expect(gc.left).toEqual([]);
  });
});

test("an outage wakes nobody up early: passes keep their period", async () => {
  const gc = new GcSite();
  await gc.begin();
  gc.put(goingUnbound("a"));
  await gc.run(19_000);
  expect(gc.left).toEqual(["default/a"]);
  await gc.run(20_000);
  expect(gc.left).toEqual([]);
});

test("a thousand pods go in one pass, the others in the next ones; none is forgotten", async () => {
  const gc = new GcSite();
  gc.put(...Array.from({ length: 1500 }, (_, index) => orphan(`p${index}`)));
  await gc.begin();
  await gc.run(40_000);
  expect(gc.left).toHaveLength(500);
  await gc.run(60_000);
  expect(gc.left).toEqual([]);
});

describe("a tenant", () => {
  /** Deleted by force long ago; the tenant never takes the finalizer away. */
  const kept = (name: string, more: Parameters<typeof pod>[1] = {}): Pod => {
    const base = ended(name);
    const metadata = {
      ...base.metadata,
      ...pod(name, { ...more, deletionTimestamp: "2026-01-01T00:00:00Z" }).metadata,
    };
    return {
      ...pod(name, more),
      metadata: { ...metadata, deletionGracePeriodSeconds: 0, finalizers: ["tenant.example/never"] },
      status: { phase: "Failed" },
    };
  };

  test("that keeps a thousand deleted pods by their finalizers takes no turn of others, and causes no writes", async () => {
    const gc = new GcSite();
    gc.put(...Array.from({ length: 1200 }, (_, index) => kept(`a-${index}`)), orphan("z"));
    await gc.begin();
    await gc.run(61_000);
    expect(gc.left).not.toContain("default/z");
    expect(gc.site.journal.writes.filter(({ object }) => object.includes("a-"))).toEqual([]);
  });

  test("whose ended pods stay by their finalizers has no pods of others deleted in their place", async () => {
    const gc = new GcSite(10);
    const others = Array.from({ length: 10 }, (_, index) => ended(`other-${index}`, { at: "2026-02-01T00:00:00Z" }));
    gc.put(...Array.from({ length: 20 }, (_, index) => kept(`a-${index}`)), ...others);
    await gc.begin();
    await gc.run(61_000);
    expect(gc.left.filter((key) => key.startsWith("default/other-"))).toHaveLength(10);
  });

  test("whose pods name hundreds of boards that never were does not keep a real one from its turn", async () => {
    const gc = new GcSite();
    gc.put(...Array.from({ length: 300 }, (_, index) => kept(`a-${index}`, { on: `a-${index}` })), orphan("z"));
    await gc.begin();
    await gc.run(200_000);
    expect(gc.left).not.toContain("default/z");
  });
});

describe("a pod that is written between the read of it and its deletion", () => {
  test("is read anew, and goes within seconds instead of after the next quarantine", async () => {
    const gc = new GcSite();
    gc.put(orphan("a"), orphan("b"));
    gc.site.refusals.add({ object: "default/a", reason: "Conflict", times: 2 });
    await gc.begin();
    await gc.run(40_000);
    expect(gc.left).toEqual(["default/a"]);
    await gc.run(42_000);
    expect(gc.left).toEqual([]);
    expect(gc.site.journal.asked.map(({ object }) => object)).toEqual([
      "node/gone",
      "pod/default/a",
      "node/gone",
      "pod/default/a",
      "node/gone",
    ]);
  });

  test("stays where its board is back", async () => {
    const gc = new GcSite();
    gc.put(orphan("a"));
    gc.site.refusals.add({ object: "default/a", reason: "Conflict", times: 1 });
    await gc.begin();
    await gc.run(40_000);
    gc.put(node("gone"));
    await gc.run(200_000);
    expect(gc.left).toEqual(["default/a"]);
  });

  test("is tried at a bounded pace where it is written again and again, and the others go meanwhile", async () => {
    const gc = new GcSite();
    gc.put(orphan("a"));
    gc.site.refusals.add({ object: "default/a", reason: "Conflict" });
    await gc.begin();
    await gc.run(100_000);
    gc.put(goingUnbound("b"));
    await gc.run(640_000);
    expect(gc.left).toEqual(["default/a"]);
    expect(gc.site.journal.asked.length).toBeLessThan(400);
    gc.site.refusals.clear();
    await gc.run(700_000);
    expect(gc.left).toEqual([]);
  });
});

test("what goes for the state of its board is named as it was read", () => {
  const nothing = { ended: [], outOfService: [], missing: [], fates: new Map(), orphans: [], unbound: [] };
  const lost = { board: "pi", pods: [pod("lost", { version: "7" })], isPart: false };
  const outOfService = [pod("stuck", { version: "8" })];
  const { actions } = decide({ ...nothing, kind: "pass", orphans: [lost], outOfService }, firstGcMemory, {
    mono: 0,
    wall: 0,
  });
  const named = actions.flatMap((action) => ("target" in action ? [[action.do, action.target.resourceVersion]] : []));
  expect(named).toEqual([
    ["patch", "8"],
    ["delete", "8"],
    ["patch", "7"],
    ["delete", "7"],
  ]);
});

test("what nothing brings back to life is named by its uid, whatever else changed about it, and no kubelet is asked", () => {
  const nothing = { ended: [], outOfService: [], missing: [], fates: new Map(), orphans: [], unbound: [] };
  const now = { mono: 0, wall: 0 };
  const state = { ...nothing, kind: "pass" as const, unbound: [pod("a", { version: "7" })] };
  const target = { resource: pods, namespace: "default", name: "a", uid: "uid-a" };
  expect(decide(state, firstGcMemory, now).actions).toEqual([
    { do: "patch", target, type: "strategic", patch: { status: { phase: "Failed" } }, subresource: "status" },
    { do: "delete", target, gracePeriodSeconds: 0 },
  ]);
});

test("the API is asked about a limited number of boards in one pass", async () => {
  const gc = new GcSite();
  gc.put(...Array.from({ length: 100 }, (_, index) => pod(`p${index}`, { on: `gone-${index}` })));
  await gc.begin();
  await gc.run(40_000);
  expect(gc.site.journal.asked).toHaveLength(64);
  await gc.run(60_000);
  expect(gc.site.journal.asked).toHaveLength(100);
  expect(gc.left).toEqual([]);
});

describe("pods of a board whose Node was deleted", () => {
  test.each<[HoldScope, boolean]>([
    [{ scope: "site" }, true],
    [{ scope: "board", target: "gone" }, true],
    [{ scope: "board", target: "other" }, false],
    // Nobody knows any more in which zone it was.
    [{ scope: "zone", target: "a" }, true],
  ])("wait while %o is frozen: %s; afterwards they go", async (scope, waits) => {
    const site = new GcSite();
    site.put(orphan("a"), goingUnbound("b"));
    const far = { mono: 1e12, wall: 0 };
    const freeze = { ...scope, end: far, slowEnd: far, by: "ops:alice", reason: undefined, foreign: {} };
    site.holds = { ...noHolds, freezes: new Map([[freezeKey(scope), freeze]]) };
    await site.begin();
    await site.run(180_000);
    expect(site.left).toEqual(waits ? ["default/a"] : []);
    site.holds = noHolds;
    await site.run(240_000);
    expect(site.left).toEqual([]);
  });
});
