import { describe, expect, test } from "vitest";
import type { Lease, Node, Pod } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { leases, nodes, pods } from "../../../../agent/api/resources.ts";
import { shifted } from "../../../../agent/base/clock.ts";
import { atOnce, type Steps } from "../../../../agent/base/steps.ts";
import type { BoardVerdictDeps } from "../../../../agent/controllers/board-verdicts.ts";
import { firstMemory, type SiteMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { outOfServiceAnnotation } from "../../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import { podGC } from "../../../../agent/controllers/pod-gc/controller.ts";
import { decide, firstGcMemory, type GcMemory, type GcState } from "../../../../agent/controllers/pod-gc/decide.ts";
import { podsToCollect } from "../../../../agent/controllers/pod-gc/ended.ts";
import { openValve, type ValveAt } from "../../../../agent/controllers/safety-valve.ts";
import { freezeKey, type HoldScope, noHolds } from "../../../../agent/holds/holds.ts";
import { noQuarantine } from "../../../../agent/judgement/link.ts";
import type { ControlLoop } from "../../../../agent/loop/control-loop.ts";
import type { SiteView } from "../../../../agent/loop/controller.ts";
import { lifecycleSettings } from "../../../replay/settings.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";
import { lease, node, pod, toleration } from "../../../support/builders.ts";
import { refusal } from "../../../support/small-api.ts";
import { countedSite } from "../counted-site.ts";

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

/** Deleted by force long ago; its owner never takes the finalizer away. */
function kept(name: string, more: Parameters<typeof pod>[1] = {}): Pod {
  const base = pod(name, { ...more, deletionTimestamp: "2026-01-01T00:00:00Z" });
  const finalizers = ["tenant.example/never"];
  return {
    ...base,
    metadata: { ...ended(name).metadata, ...base.metadata, deletionGracePeriodSeconds: 0, finalizers },
    status: { phase: "Failed" },
  };
}

describe("terminated pods", () => {
  test.each<[string, readonly Pod[], number, readonly string[]]>([
    ["no deletion is requested", [ended("a")], 0, []],
    ["there are no pods", [], 3, []],
    ["fewer than requested", [ended("a")], 3, ["a"]],
    ["the oldest", [ended("a", { at: "2026-01-01T00:00:01Z" }), ended("b")], 1, ["b"]],
    ["the same second", [ended("b"), ended("a"), ended("c")], 2, ["a", "b"]],
    [
      "an evicted pod before all older ones",
      [ended("old", { at: "2020-01-01T00:00:00Z" }), ended("e", { evicted: true })],
      1,
      ["e"],
    ],
    [
      "times with fractions of seconds, as other tools write them",
      [ended("later", { at: "2026-01-01T00:00:00.5Z" }), ended("sooner")],
      1,
      ["sooner"],
    ],
  ])("are deleted in the right order and number: %s", (_, found, count, first) => {
    const threshold = Math.max(0, found.length - count);
    expect(atOnce(podsToCollect(() => found, { threshold, most: 10 }))).toEqual(first.map((name) => `default/${name}`));
  });

  test("kept only by finalizers are counted and keep their rank, but are not deleted again", () => {
    const found = [ended("a"), kept("b"), ended("c"), kept("d"), kept("e"), ended("f")];
    const first = (threshold: number): readonly string[] => atOnce(podsToCollect(() => found, { threshold, most: 10 }));
    expect(first(6)).toEqual([]);
    expect(first(5)).toEqual(["default/a"]);
    expect(first(4)).toEqual(["default/a"]);
    expect(first(3)).toEqual(["default/a", "default/c"]);
    expect(first(1)).toEqual(["default/a", "default/c"]);
    expect(first(0)).toEqual(["default/a", "default/c", "default/f"]);
  });

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ["no pod changes", ["a", "b"], ["c", "d", "e", "f"], ["c", "d"]],
    ["a pod that was kept is deleted", ["b"], ["c", "d", "e", "f"], ["c", "d"]],
    ["another pod is kept", ["a", "aa", "b"], ["c", "d", "e", "f"], ["c"]],
    ["a pod that had to be kept is deleted and held by a finalizer", ["a", "b", "f"], ["c", "d", "e"], ["c", "d"]],
  ])("are not deleted if they may be kept, even if %s while they are read", (_, laterKept, laterEnded, first) => {
    const readings = [
      [...["a", "b"].map((name) => kept(name)), ...["c", "d", "e", "f"].map((name) => ended(name))],
      [...laterKept.map((name) => kept(name)), ...laterEnded.map((name) => ended(name))],
    ];
    const reading = (): readonly Pod[] => readings.shift() ?? [];
    expect(atOnce(podsToCollect(reading, { threshold: 2, most: 10 }))).toEqual(first.map((name) => `default/${name}`));
  });

  test("are held in memory only as far as a pass deletes them, in their order", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `p-${String((index * 7919) % 1000).padStart(3, "0")}`);
    const found = names.map((name) => ended(name));
    expect(atOnce(podsToCollect(() => found, { threshold: 10, most: 3 }))).toEqual(
      ["000", "001", "002"].map((number) => `default/p-${number}`),
    );
  });
});

/** A site with the garbage collection on it. */
class GcSite {
  readonly site = new Site(new CaseTime());
  judge: SiteMemory | "no judge" | undefined = "no judge";
  holds = noHolds;
  valve: ValveAt = () => openValve;
  readonly #loop: ControlLoop<GcState, GcMemory>;

  constructor(threshold = 0) {
    const verdictDeps: BoardVerdictDeps = {
      settings: lifecycleSettings({}),
      judge: () => this.judge,
      holds: () => this.holds,
      valve: (now, namespace) => this.valve(now, namespace),
    };
    this.#loop = this.site.loopOf(podGC({ verdictDeps, terminatedThreshold: threshold }));
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
const inTenant = (name: string): Pick<Pod, "metadata"> => ({
  metadata: { ...goingUnbound(name).metadata, namespace: "a" },
});
const goingUnbound = (name: string): Pod => pod(name, { deletionTimestamp: "2026-01-01T00:00:00Z" });

describe("pods are deleted", () => {
  test("within a second of the first monitor pass, and none before it", async () => {
    const gc = new GcSite();
    gc.judge = undefined;
    gc.put(goingUnbound("a"));
    await gc.begin();
    await gc.run(30_000);
    expect(gc.left).toEqual(["default/a"]);
    gc.judge = firstMemory;
    await gc.run(31_000);
    expect(gc.left).toEqual([]);
  });

  test("after the quarantine that follows an outage, and none during it", async () => {
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

test("an outage does not shorten the period between passes", async () => {
  const gc = new GcSite();
  await gc.begin();
  gc.put(goingUnbound("a"));
  await gc.run(19_000);
  expect(gc.left).toEqual(["default/a"]);
  await gc.run(20_000);
  expect(gc.left).toEqual([]);
});

test("pods of a deleted board stay while their namespace has used its share of the safety valve's hour", async () => {
  const gc = new GcSite();
  const restraint = { why: "valve", of: "share", count: 4, limit: 10 } as const;
  gc.valve = (_, namespace) =>
    namespace === "shop" ? { shut: { restraint, until: undefined }, boards: "half" } : openValve;
  gc.put(pod("a", { on: "gone", namespace: "shop" }), pod("b", { on: "gone", namespace: "web" }));
  await gc.begin();
  await gc.run(61_000);
  expect(gc.left).toEqual(["shop/a"]);
  gc.valve = () => openValve;
  await gc.run(121_000);
  expect(gc.left).toEqual([]);
});

test("a thousand pods are deleted in one pass, the others in the next ones; none is forgotten", async () => {
  const gc = new GcSite();
  gc.put(...Array.from({ length: 1500 }, (_, index) => orphan(`p${index}`)));
  await gc.begin();
  await gc.run(40_000);
  expect(gc.left).toHaveLength(500);
  await gc.run(60_000);
  expect(gc.left).toEqual([]);
});

test("a Node that cannot be read affects only the pods on it, and those of other boards are deleted", async () => {
  const boards = ["a", ...Array.from({ length: 20 }, (_, index) => `b-${10 + index}`)];
  const { site } = countedSite([[pods, boards.map((board) => pod(`on-${board}`, { on: board }))]]);
  const view: SiteView = {
    ...site,
    async fetch(_, name) {
      if (name === "a") throw refusal("get", 0, "Unreadable");
      return undefined;
    },
  };
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
  const waiting = new Map(boards.map((board) => [board, site.now]));
  const gc = podGC({ verdictDeps, terminatedThreshold: 0 });
  const state = await gc.observe("site", view, { ...firstGcMemory, waiting });
  if (state?.kind !== "pass") throw new Error(state?.kind);
  expect(state.lookups.get("a")).toBe("unanswered");
  expect(state.orphans.map(({ board }) => board)).toEqual(boards.slice(1));
});

test("a pass holds little of a board's large pods, and takes one step for each of them", async () => {
  const tolerations = Array.from({ length: 5000 }, (_, i) => toleration(`k${i}`));
  const found = Array.from({ length: 10 }, (_, i) => pod(`a${i}`, { on: "gone", tolerations, generation: 1 }));
  const { site, reads } = countedSite([[pods, found]]);
  const gc = podGC({
    verdictDeps: { settings: lifecycleSettings({}), judge: () => "no judge" },
    terminatedThreshold: 0,
  });
  const waiting = new Map([["gone", site.now]]);
  const state = await gc.observe("site", site, { ...firstGcMemory, waiting });
  if (state?.kind !== "pass") throw new Error(state?.kind);
  expect(state.orphans.flatMap(({ pods: of }) => of.map(keyOf))).toEqual(found.map(keyOf));
  expect(JSON.stringify(state.orphans).length).toBeLessThan(10_000);
  expect(reads.steps).toBeGreaterThanOrEqual(10);
});

describe("a tenant", () => {
  test("that keeps a thousand deleted pods by finalizers does not take turns from other tenants, and does not cause writes", async () => {
    const gc = new GcSite();
    gc.put(...Array.from({ length: 1200 }, (_, index) => kept(`a-${index}`)), orphan("z"));
    await gc.begin();
    await gc.run(61_000);
    expect(gc.left).not.toContain("default/z");
    expect(gc.site.journal.writes.filter(({ object }) => object.includes("a-"))).toEqual([]);
  });

  test("whose deleted pods are kept by finalizers does not have younger pods of others deleted in their place", async () => {
    const gc = new GcSite(10);
    const older = Array.from({ length: 4 }, (_, index) => ended(`older-${index}`, { at: "2025-02-01T00:00:00Z" }));
    const younger = Array.from({ length: 3 }, (_, index) => ended(`younger-${index}`, { at: "2026-02-01T00:00:00Z" }));
    gc.put(...older, ...younger, ...Array.from({ length: 10 }, (_, index) => kept(`a-${index}`)));
    await gc.begin();
    await gc.run(61_000);
    expect(gc.left.filter((key) => !key.startsWith("default/a-"))).toEqual(younger.map(keyOf));
    expect(gc.site.journal.writes.filter(({ object }) => object.includes("a-"))).toEqual([]);
  });

  test("whose thousands of deleted pods come first does not use up the places of a pass", async () => {
    const gc = new GcSite(5);
    const others = Array.from({ length: 10 }, (_, index) => ended(`other-${index}`, { at: "2026-02-01T00:00:00Z" }));
    gc.put(...Array.from({ length: 1200 }, (_, index) => kept(`a-${index}`)), ...others);
    await gc.begin();
    await gc.run(1000);
    expect(gc.left.filter((key) => key.startsWith("default/other-"))).toEqual(others.slice(5).map(keyOf));
  });

  test("whose deleted pods name boards that never existed, and are kept by finalizers, does not cause requests", async () => {
    const gc = new GcSite();
    gc.put(...Array.from({ length: 300 }, (_, index) => kept(`a-${index}`, { on: `a-${index}` })), orphan("z"));
    await gc.begin();
    await gc.run(41_000);
    expect(gc.left).not.toContain("default/z");
    expect(gc.site.journal.asked.map(({ object }) => object)).toEqual(["node/gone"]);
  });

  test("whose pods name hundreds of boards that never existed does not delay those of other namespaces", async () => {
    const gc = new GcSite();
    const invented = Array.from({ length: 300 }, (_, index) => pod(`a-${index}`, { on: `a-${index}`, namespace: "b" }));
    gc.put(...invented, orphan("z"), pod("y", { on: "gone-too", namespace: "shop" }));
    await gc.begin();
    await gc.run(41_000);
    expect(gc.left.filter((key) => !key.startsWith("b/"))).toEqual([]);
    expect(gc.site.journal.asked).toHaveLength(64);
  });

  test.each([
    ["on the same deleted board", (name: string) => pod(name, { on: "gone", namespace: "a" })],
    ["that are being deleted, on no board", (name: string) => ({ ...goingUnbound(name), ...inTenant(name) })],
    ["that have ended", (name: string) => ended(name, { namespace: "a" })],
  ])("with thousands of pods %s delays the pods of others by no pass", async (_, made) => {
    const gc = new GcSite(1);
    gc.put(...Array.from({ length: 2500 }, (_, index) => made(`p-${index}`)));
    gc.put(pod("y", { on: "gone", namespace: "shop" }), pod("z", { on: "gone", namespace: "web" }));
    await gc.begin();
    await gc.run(40_000);
    expect(gc.left.filter((key) => !key.startsWith("a/"))).toEqual([]);
    await gc.run(160_000);
    expect(gc.left.length).toBeLessThan(2);
  });

  test("with thousands of pods on one board that never existed does not hold up the pods of other boards", async () => {
    const gc = new GcSite();
    gc.put(...Array.from({ length: 2500 }, (_, index) => pod(`a-${index}`, { on: "a" })), orphan("z"));
    await gc.begin();
    await gc.run(40_000);
    expect(gc.left).toContain("default/z");
    await gc.run(61_000);
    expect(gc.left).not.toContain("default/z");
    await gc.run(81_000);
    expect(gc.left).toEqual([]);
  });
});

describe("a pod that is written between its read and its deletion", () => {
  test("is read again, and deleted within seconds instead of after the next quarantine", async () => {
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

  test("is kept if its board is back", async () => {
    const gc = new GcSite();
    gc.put(orphan("a"));
    gc.site.refusals.add({ object: "default/a", reason: "Conflict", times: 1 });
    await gc.begin();
    await gc.run(40_000);
    gc.put(node("gone"));
    await gc.run(200_000);
    expect(gc.left).toEqual(["default/a"]);
  });

  test("is retried at a bounded pace if it is written again and again, and the others are deleted in the meantime", async () => {
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

const none = { ended: [], outOfService: [], missing: [], lookups: new Map(), orphans: [], unbound: [] };

test("a pod deleted because of the state of its board is deleted only in the version that was read", () => {
  const nothing = { ...none, shut: () => undefined };
  const lost = { board: "pi", pods: [pod("lost", { version: "7" })], hasMore: false };
  const outOfService = [{ pod: pod("stuck", { version: "8" }) }];
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

test("a pod that can never run again is deleted regardless of its version, without waiting for a kubelet", () => {
  const nothing = { ...none, shut: () => undefined };
  const now = { mono: 0, wall: 0 };
  const state = { ...nothing, kind: "pass" as const, unbound: [pod("a", { version: "7" })] };
  const target = { resource: pods, namespace: "default", name: "a", uid: "uid-a" };
  expect(decide(state, firstGcMemory, now).actions).toEqual([
    { do: "patch", target, type: "strategic", patch: { status: { phase: "Failed" } }, subresource: "status" },
    { do: "delete", target, gracePeriodSeconds: 0 },
  ]);
});

test("the API is read about a limited number of boards that siteward took out of service in one pass", async () => {
  const boards = Array.from({ length: 100 }, (_, index) => `pi-${index}`);
  const annotations = { [outOfServiceAnnotation]: JSON.stringify({ v: 1, lease: "", heartbeat: "" }) };
  const outOfService = boards.map((name): Node => {
    const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "siteward" }];
    const board = node(name, { conditions: { Ready: "Unknown" }, taints });
    return { ...board, metadata: { ...board.metadata, annotations } };
  });
  const leaving = boards.map((on) => pod(`on-${on}`, { on, deletionTimestamp: "2026-01-01T00:00:00Z" }));
  const { site } = countedSite([
    [nodes, outOfService],
    [pods, leaving],
  ]);
  const asked: string[] = [];
  const view: SiteView = {
    ...site,
    async fetch(resource, name) {
      if (resource.kind === "Node") asked.push(name);
      return site.fetch(resource, name);
    },
  };
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
  const state = await podGC({ verdictDeps, terminatedThreshold: 0 }).observe("site", view, firstGcMemory);
  if (state?.kind !== "pass") throw new Error(state?.kind);
  expect([asked.length, state.outOfService.length]).toEqual([64, 64]);
});

test("a limited number of pods is read again in one pass after conflicts", async () => {
  const overtaken = new Set(Array.from({ length: 100 }, (_, index) => `default/p-${index}`));
  const { site } = countedSite([[pods, []]]);
  const asked: string[] = [];
  const view: SiteView = {
    ...site,
    async fetch(_, name) {
      asked.push(name);
      return undefined;
    },
  };
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
  const passAt = shifted(site.now, 10_000);
  const state = await podGC({ verdictDeps, terminatedThreshold: 0 }).observe("site", view, {
    ...firstGcMemory,
    passAt,
    overtaken,
  });
  expect([state?.kind, asked.length]).toEqual(["retryConflicts", 64]);
});

test("the API is queried about a limited number of boards in one pass", async () => {
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
    // Its zone is no longer known.
    [{ scope: "zone", target: "a" }, true],
  ])("wait while %o is frozen: %s; afterwards they are deleted", async (scope, waits) => {
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

describe("terminating pods on boards that an operator marked out of service", () => {
  const marked: Node = node("pi", {
    conditions: { Ready: "Unknown" },
    taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }],
  });
  const leaving = pod("web", { on: "pi", version: "8", deletionTimestamp: "2026-01-01T00:00:00Z" });
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };

  async function pass(position: string | undefined, live?: () => Node | undefined) {
    const { site } = countedSite([
      [pods, [leaving]],
      [nodes, [marked]],
    ]);
    const asked: string[] = [];
    const view: SiteView = {
      ...site,
      position: () => position,
      async fetch<T>(_: unknown, name: string): Promise<T | undefined> {
        asked.push(name);
        // Only Nodes are asked for.
        return live?.() as T | undefined;
      },
    };
    const state = await podGC({ verdictDeps, terminatedThreshold: 0 }).observe("site", view, firstGcMemory);
    if (state?.kind !== "pass") throw new Error(state?.kind);
    return { deleted: state.outOfService.map(({ pod: { metadata } }) => metadata.name), asked };
  }

  describe("by the command of siteward", () => {
    const confirmed: Node = {
      ...marked,
      metadata: {
        ...marked.metadata,
        annotations: {
          [outOfServiceAnnotation]: JSON.stringify({
            v: 1,
            by: "ops:jo",
            reason: "burnt",
            lease: "7",
            heartbeat: "H1",
          }),
        },
      },
      spec: { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "siteward" }] },
      status: { conditions: [{ type: "Ready", status: "Unknown", lastHeartbeatTime: "H1" }] },
    };
    const heard: Node = {
      ...confirmed,
      status: { conditions: [{ type: "Ready", status: "Unknown", lastHeartbeatTime: "H2" }] },
    };
    const back: Node = { ...marked, spec: {}, status: { conditions: [{ type: "Ready", status: "True" }] } };

    const freed: Node = { ...confirmed, spec: {} };
    const renewed = lease("pi", "8");
    const unchanged = lease("pi", "7");

    /** Decides with caches that show no sign of life since the word. */
    async function collect(live: Node | undefined, itsLease: Lease | undefined) {
      const { site } = countedSite([
        [pods, [leaving]],
        [nodes, [confirmed]],
        [leases, [unchanged]],
      ]);
      const asked: string[] = [];
      const view: SiteView = {
        ...site,
        position: () => "8",
        async fetch<T>(resource: unknown, name: string): Promise<T | undefined> {
          asked.push(name);
          return (resource === nodes ? live : itsLease) as T | undefined;
        },
      };
      const state = await podGC({ verdictDeps, terminatedThreshold: 0 }).observe("site", view, firstGcMemory);
      if (state === undefined) throw new Error("nothing to decide");
      const { actions } = decide(state, firstGcMemory, { mono: 0, wall: 0 });
      return { asked, deletions: actions.filter((action) => action.do === "delete") };
    }

    test.each([
      ["gave no sign of life since", confirmed, unchanged, ["delete web"]],
      ["renewed its Lease since, which the cache does not show", confirmed, renewed, []],
      ["reported its status since, which the cache does not show", heard, unchanged, []],
      ["has lost its Lease since", confirmed, undefined, []],
      ["is back in service", back, renewed, []],
      ["was freed from the taint by a person, who left the mark", freed, unchanged, []],
      ["is no longer known", undefined, undefined, []],
    ])("they are deleted after a read, if the board %s", async (_what, live, itsLease, gone) => {
      const { asked, deletions } = await collect(live, itsLease);
      expect(asked).toContain("pi");
      expect(deletions.map(({ target }) => `delete ${target.name}`)).toEqual(gone);
      for (const { cause, grounds } of deletions) {
        expect([cause?.isOrdered, grounds?.gate]).toEqual([true, { confirmed: "silent" }]);
        expect(grounds?.because).toMatchObject({ kind: "out-of-service", by: "ops:jo", reason: "burnt" });
      }
    });

    test("and then by hand, which is an order whatever the board has shown since, they are deleted", async () => {
      const byHand: Node = { ...heard, spec: marked.spec ?? {} };
      const { asked, deletions } = await collect(byHand, renewed);
      expect(asked).toEqual(["pi"]);
      expect(deletions.map(({ target, cause }) => [target.name, cause])).toEqual([["web", undefined]]);
    });
  });

  test.each([
    ["in a pass", firstGcMemory, { kind: "pass", outOfService: [{ pod: leaving }], orphans: [] }],
    [
      "after a conflict",
      {
        ...firstGcMemory,
        passAt: { mono: 1e12, wall: 0 },
        overtaken: new Set(["default/web", "default/lost"]),
      },
      { kind: "retryConflicts", outOfService: [{ pod: leaving }], orphans: [] },
    ],
  ])("are deleted %s although the site is frozen, unlike the pods of deleted boards", async (_, memory, found) => {
    const waiting = new Map([["gone", { mono: 0, wall: 0 }]]);
    const { site } = countedSite([
      [pods, [leaving, pod("lost", { on: "gone" })]],
      [nodes, [marked]],
    ]);
    const far = { mono: 1e12, wall: 0 };
    const scope = { scope: "site" } as const;
    const freeze = { ...scope, end: far, slowEnd: far, by: "ops:alice", reason: undefined, foreign: {} };
    const holds = () => ({ ...noHolds, freezes: new Map([[freezeKey(scope), freeze]]) });
    const gc = podGC({ verdictDeps: { ...verdictDeps, holds }, terminatedThreshold: 0 });
    const view: SiteView = { ...site, position: () => "8" };
    expect(await gc.observe("site", view, { ...memory, waiting })).toMatchObject(found);
  });

  test("are deleted if they were written no later than the cached Nodes", async () => {
    expect(await pass("8")).toEqual({ deleted: ["web"], asked: [] });
  });

  test.each([
    ["is still out of service", () => marked, ["web"]],
    ["has returned, which the late watch does not show yet", () => node("pi"), []],
    ["was deleted", () => undefined, []],
    [
      "cannot be read",
      () => {
        throw refusal("get", 0, "Unreadable");
      },
      [],
    ],
  ])("cause a read of their board if they were written later: the board %s", async (_name, live, deleted) => {
    expect(await pass("7", live)).toEqual({ deleted, asked: ["pi"] });
    expect(await pass(undefined, live)).toEqual({ deleted, asked: ["pi"] });
  });
});

test("a pod that takes the name of a terminated one while the pods are read is not deleted in its place", async () => {
  const cached = [ended("a"), ended("b"), ended("c")];
  const { site } = countedSite([[pods, cached]]);
  const view: SiteView = {
    ...site,
    inTurns<T>(steps: Steps<T>): T {
      const first = steps.next();
      cached[0] = pod("a", { uid: "uid-another" });
      return first.done ? first.value : atOnce(steps);
    },
  };
  const verdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" as const };
  const state = await podGC({ verdictDeps, terminatedThreshold: 1 }).observe("site", view, firstGcMemory);
  expect(state).toMatchObject({ kind: "pass", ended: [{ metadata: { name: "b" } }] });
});
