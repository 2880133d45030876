import { expect, test } from "vitest";
import { leases } from "../../../agent/api/resources.ts";
import { elapsed } from "../../../agent/base/clock.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { takeOutOfService } from "../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import type { EvictionTimer } from "../../../agent/controllers/taint-eviction/timer.ts";
import { noHolds } from "../../../agent/holds/holds.ts";
import { leavingPods } from "../../../agent/leading/leaving-pods.ts";
import { siteParts } from "../../../agent/leading/site-parts.ts";
import type { NamedBoards } from "../../../agent/status/parts.ts";
import { lease, node, taint } from "../../support/builders.ts";
import { SiteModel } from "../controllers/site-model.ts";

const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });

type Held = Parameters<typeof siteParts>[0]["decisions"];

const partsOf = (
  site: SiteModel,
  held: ReturnType<Held["heldCounts"]> = [],
  more: Partial<Parameters<typeof siteParts>[0]> = {},
) =>
  siteParts(
    {
      config,
      current: {
        site: site.memory,
        timers: () => undefined,
        podsAwaitingEviction: (boards) => leavingPods(site.timers, boards),
      },
      executor: { acts: () => [] },
      decisions: { heldCounts: () => held, boardsHeldBy: () => [] },
      valve: undefined,
      limits: undefined,
      holds: noHolds,
      quiet: undefined,
      watches: [],
      controllers: [],
      nodes: () => [],
      ...more,
    },
    site.now,
  );

/** What the leader of a site reports of its boards. */
function reported(site: SiteModel) {
  const parts = partsOf(site);
  const { lost, off, notReady, undrained = [] } = parts.boards ?? {};
  const names = (boards: NamedBoards | undefined) => boards?.some.map(({ name }) => name);
  const [zone] = parts.zones ?? [];
  const ready = `${zone?.ready}/${zone?.nodes}`;
  return { ready, lost: names(lost), off: names(off), notReady: names(notReady), undrained };
}

function siteOfThree(policy: "evidence" | "kubernetes" = "kubernetes"): SiteModel {
  const site = new SiteModel({ policy });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  return site;
}

/** The agent may not `patch nodes/status`. */
const readOnly = (site: SiteModel): void => {
  site.refuse = (action) => (action.do === "patch" && action.subresource === "status" ? "drop" : undefined);
};

test("a board is lost because of its verdict, even if the agent may not mark it", async () => {
  const site = siteOfThree();
  readOnly(site);
  await site.run("1m");
  expect(reported(site)).toEqual({ ready: "3/3", lost: [], off: [], notReady: [], undrained: [] });
  site.silence("pi-2");
  await site.run("1m");
  expect(site.conditions("pi-2").Ready).toBe("True");
  expect(reported(site)).toEqual({ ready: "2/3", lost: ["pi-2"], off: [], notReady: [], undrained: [] });
  site.revive("pi-2");
  await site.run("10s");
  expect(reported(site)).toEqual({ ready: "3/3", lost: [], off: [], notReady: [], undrained: [] });
});

test("a board that reported itself not ready and then fell silent is lost, but one that sends heartbeats is not", async () => {
  const site = siteOfThree();
  readOnly(site);
  await site.run("1m");
  site.report("pi-3", { Ready: "False" });
  await site.run("10s");
  expect(reported(site)).toMatchObject({ lost: [], notReady: ["pi-3"] });
  site.silence("pi-3");
  await site.run("90s");
  expect(reported(site)).toMatchObject({ lost: ["pi-3"], notReady: [] });
});

const forAMinute = { key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 60 } as const;

test("a cordoned board that falls silent is counted with its pods until they are gone, not counting daemon pods", async () => {
  const site = siteOfThree();
  for (const name of ["web-1", "web-2", "daemon", "elsewhere"])
    site.pod(name, { on: name === "elsewhere" ? "pi-1" : "pi-2" });
  site.tolerate("web-1", forAMinute);
  site.tolerate("web-2", forAMinute);
  site.tolerate("daemon", { operator: "Exists" });
  await site.run("1m");
  site.change("pi-2", (before) => ({ ...before, spec: { ...before.spec, unschedulable: true } }));
  site.silence("pi-2");
  await site.run("70s");
  expect(reported(site)).toMatchObject({
    lost: [],
    off: ["pi-2"],
    undrained: [{ name: "pi-2", staying: 2, evicted: 0 }],
  });
  await site.run("90s");
  expect([site.exists("web-1"), site.exists("daemon")]).toEqual([false, true]);
  expect(reported(site)).toMatchObject({ off: ["pi-2"], undrained: [] });
});

test("a board that is not cordoned is lost, regardless of its pods", async () => {
  const site = siteOfThree();
  site.pod("web-1", { on: "pi-2" });
  site.tolerate("web-1", forAMinute);
  await site.run("1m");
  site.silence("pi-2");
  await site.run("70s");
  expect(reported(site)).toMatchObject({ lost: ["pi-2"], off: [], undrained: [] });
});

test("a silent board that answers on the LAN is not lost, as long as it does", async () => {
  const site = siteOfThree("evidence");
  await site.run("1m");
  const cutOff = () => partsOf(site).boards?.cutOff?.some.map(({ name, witness }) => [name, witness]);
  site.answer("pi-2", { is: "ok" });
  site.silence("pi-2");
  await site.run("90s");
  expect(reported(site)).toMatchObject({ ready: "2/3", lost: [] });
  expect(cutOff()).toEqual([["pi-2", "lan"]]);
  // Its taint is held, although it does not wait for its turn.
  expect(partsOf(site).eviction).toMatchObject({ queue: 0, queueHeld: 0 });
  site.answer("pi-2", { is: "down", forMs: 1000 });
  await site.run("20s");
  expect(cutOff()).toEqual([["pi-2", "lan, no kubelet"]]);
  site.answer("pi-2", undefined);
  await site.run("5m");
  expect(reported(site)).toMatchObject({ lost: ["pi-2"] });
  expect(cutOff()).toBe(undefined);
});

test("after a change of leader, a board that answers on the LAN is cut off again with its first answer, and lost boards are not yet judged", async () => {
  const site = siteOfThree("evidence");
  site.board("pi-4");
  await site.run("1m");
  site.answer("pi-2", { is: "ok" });
  for (const name of ["pi-2", "pi-3"]) site.silence(name);
  await site.run("3m");
  site.answer("pi-2", undefined);
  await site.lead();
  await site.run("5s");
  const lost = () => partsOf(site).boards?.lost.some.map(({ name, unjudged }) => [name, unjudged]);
  const cutOff = () => partsOf(site).boards?.cutOff?.some.map(({ name, witness }) => [name, witness]);
  expect(lost()).toEqual([
    ["pi-2", true],
    ["pi-3", true],
  ]);
  site.answer("pi-2", { is: "ok" });
  await site.run("5s");
  expect([lost(), cutOff()]).toEqual([[["pi-3", true]], [["pi-2", "lan"]]]);
  await site.run("2m");
  expect([lost(), cutOff()]).toEqual([[["pi-3", undefined]], [["pi-2", "lan"]]]);
});

test("a board that is confirmed dead is lost, by the word of an operator, until it gives a sign of life", async () => {
  const site = siteOfThree("evidence");
  await site.run("1m");
  site.silence("pi-2");
  await site.run("90s");
  const confirmed = () => partsOf(site).boards?.lost.some.map(({ name, confirmedBy }) => [name, confirmedBy]);
  expect(confirmed()).toEqual([["pi-2", undefined]]);
  const version = site.api.find(leases, "kube-node-lease/pi-2")?.metadata.resourceVersion ?? "";
  await site.execute(takeOutOfService(site.node("pi-2"), lease("pi-2", version), { by: "ops:alice" }, site.now));
  await site.run("10s");
  expect(confirmed()).toEqual([["pi-2", "ops:alice"]]);
});

test("boards that wait in a zone without a rate are held", async () => {
  const site = siteOfThree();
  site.board("pi-4");
  await site.run("1m");
  for (const name of ["pi-2", "pi-3", "pi-4"]) site.silence(name);
  await site.run("90s");
  const { zones, eviction } = partsOf(site);
  expect(zones).toMatchObject([{ state: "PartialDisruption", rate: 0 }]);
  expect(eviction?.queue).toBeGreaterThan(0);
  expect(eviction?.queueHeld).toBe(eviction?.queue);
});

test("the quarantine after an outage names the boards that have not reported, and its latest end", async () => {
  const site = siteOfThree("evidence");
  await site.run("1m");
  site.silence("pi-2");
  site.cut();
  await site.run("40s");
  site.restore();
  await site.run("20s");
  const { held } = partsOf(site).eviction ?? {};
  expect(held?.awaited).toEqual({ count: 1, some: ["pi-2"] });
  const left = held?.until && elapsed(site.now, held.until);
  expect(left).toBeGreaterThan(0);
  await site.run("1m");
  const { zones, eviction } = partsOf(site);
  expect(eviction?.held).toBe(undefined);
  expect(zones).toMatchObject([{ slowAfter: "outage", slowUntil: expect.anything() }]);
});

test("pods that were evicted and still exist are counted separately from those that will be evicted", () => {
  // No other member is counted.
  const timer = (board: string, sentAt?: object) => ({ board, deletion: { sentAt } }) as unknown as EvictionTimer;
  const timers = [timer("pi-2"), timer("pi-2", {}), undefined, timer("pi-1"), timer("pi-2", {})];
  expect([...leavingPods(timers, new Set(["pi-2", "pi-3"]))]).toEqual([["pi-2", { staying: 1, evicted: 2 }]]);
});

test("each reason for which acts can be held is counted, from zero on", async () => {
  const site = siteOfThree();
  await site.run("1m");
  const held = (counts: readonly { why: "quarantine"; now: number; total: number }[]) =>
    partsOf(site, counts).eviction?.heldActs;
  expect(held([])).toHaveLength(9);
  expect(held([])).toContainEqual({ why: "not-live", now: 0, total: 0 });
  const quarantine = { why: "quarantine", now: 1, total: 4 } as const;
  expect(held([quarantine])).toContainEqual(quarantine);
  expect(held([quarantine])).toHaveLength(9);
});

test("a pod that stays, because its eviction would gain nothing, is not counted among those that will be evicted", () => {
  // No other member is counted.
  const timer = (explained?: string, sentAt?: object) =>
    ({ board: "pi-2", explained, deletion: { sentAt } }) as unknown as EvictionTimer;
  const timers = [timer(), timer("no owner"), timer("no board", {})];
  expect([...leavingPods(timers, new Set(["pi-2"]))]).toEqual([["pi-2", { staying: 1, evicted: 1 }]]);
  expect([...leavingPods([timer("StatefulSet")], new Set(["pi-2"]))]).toEqual([]);
});

test("boards whose judgement is postponed by a link that flaps are reported after some minutes", async () => {
  const site = siteOfThree();
  const postponed = () => partsOf(site).judgement?.postponed?.boards.some.map(({ name }) => name);
  await site.run("1m");
  site.silence("pi-2");
  const flap = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      site.cut();
      await site.run("12s");
      site.restore();
      await site.run("30s");
    }
  };
  await flap(3);
  expect(postponed()).toBe(undefined);
  await flap(2);
  expect(postponed()).toEqual(["pi-2"]);
  await site.run("20s");
  expect(postponed()).toBe(undefined);
  expect(reported(site)).toMatchObject({ lost: ["pi-2"] });
});

test("they are reported as well where each outage ends the leader's term", async () => {
  const site = siteOfThree();
  const postponed = () => partsOf(site).judgement?.postponed?.boards.some.map(({ name }) => name);
  await site.run("1m");
  site.silence("pi-2");
  await site.run("20s");
  for (let term = 0; term < 4; term++) {
    const { recollection: recalled } = site;
    site.cut();
    await site.run("50s");
    site.restore();
    await site.lead({ recalled });
    await site.run("30s");
    expect(postponed()).toEqual(term < 3 ? undefined : ["pi-2"]);
  }
});

test("the status names until when the pods of a held board stay, also if its zone is held", async () => {
  const counted = { questions: 7, overMs: 30_000, at: undefined };
  const site = new SiteModel({ policy: "evidence", ownNode: "pi-3" });
  for (const name of ["pi-1", "pi-2"]) site.board(name, { zone: "hall" });
  for (const name of ["pi-3", "pi-4", "pi-5"]) site.board(name, { zone: "office" });
  await site.run("1m");
  for (const name of ["pi-1", "pi-2"]) {
    site.silence(name);
    site.unanswered(name, { counted });
  }
  site.silence("pi-4");
  site.unanswered("pi-4", { isCalibrated: false, counted });
  const fell = site.now;
  await site.run("2m");
  const { lost } = partsOf(site).boards ?? {};
  const left = lost?.some.map(({ name, heldUntil }) => [
    name,
    heldUntil && Math.round(elapsed(fell, heldUntil) / 10_000),
  ]);
  // The grace period and 15 minutes, in tens of seconds; the last heartbeats were up to ten seconds before.
  expect(left).toEqual([
    ["pi-1", expect.closeTo(94, -1)],
    ["pi-2", expect.closeTo(94, -1)],
    ["pi-4", expect.closeTo(94, -1)],
  ]);
});

test("taints that are only pretended are not counted, neither as tainted boards nor by the safety valve", async () => {
  const site = siteOfThree();
  await site.run("1m");
  site.silence("pi-3");
  await site.run("2m");
  const shadowed = (mode: "act" | "shadow") =>
    partsOf(site, [], {
      config: { ...config, controllers: { ...config.controllers, nodeLifecycle: { mode } } },
      limits: { acts: () => 10, namespaces: () => new Set(), shareOf: () => 1, boards: "half" },
      valve: {
        view: () => ({ acts: 0, isUnknown: false, of: "acts", usedByNamespace: undefined, opensAt: undefined }),
        mostUsed: () => [],
        holdingSince: undefined,
      },
      nodes: () => [node("pi-1"), node("pi-2", { taints: [taint("unreachable:NoExecute")] })],
    });
  expect(shadowed("act")).toMatchObject({ boards: { tainted: 1 }, eviction: { valve: { boards: 1 } } });
  expect(shadowed("shadow")).toMatchObject({
    boards: { tainted: 1 },
    eviction: { valve: { boards: 0 } },
    judgement: { isShadowed: true },
  });
  const none = {
    config: { ...config, controllers: { ...config.controllers, nodeLifecycle: { mode: "shadow" as const } } },
  };
  expect(partsOf(site, [], none).boards?.tainted).toBe(0);
});
