import { describe, expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { pods } from "../../../agent/api/resources.ts";
import { shifted } from "../../../agent/base/clock.ts";
import { firstGcMemory, decide as gc } from "../../../agent/controllers/pod-gc/decide.ts";
import {
  isLimitedOn,
  maxTaintedBoards,
  openValve,
  shutValve,
  type ValveNow,
} from "../../../agent/controllers/safety-valve.ts";
import { isLimitedByValve } from "../../../agent/execution/actions.ts";
import { isLimited, rulingOf } from "../../../agent/judgement/ruling.ts";
import { pod } from "../../support/builders.ts";
import { SiteModel } from "./site-model.ts";

const restraint = { why: "valve", of: "acts", count: 10, limit: 10 } as const;
const shut: ValveNow = { shut: { restraint, until: undefined }, boards: "half" };
const halfOpen: ValveNow = { ...openValve, boards: "half" };

test.each([
  ["half", 1, 1],
  ["half", 2, 1],
  ["half", 3, 1],
  ["half", 4, 2],
  ["half", 5001, 2500],
  [0, 4, 0],
  [7, 4, 7],
  ["all", 4, Number.POSITIVE_INFINITY],
] as const)("with the limit %j a site of %d boards may have %d tainted", (boards, size, most) => {
  expect(maxTaintedBoards({ ...openValve, boards }, size)).toBe(most);
});

test.each([
  ["Unknown", "unproven", true],
  ["Unknown", "cut-off", true],
  ["Unknown", "unmanaged", true],
  ["Unknown", "dead", false],
  ["False", "alive", false],
  ["True", "alive", false],
] as const)("on a board with Ready %s and the verdict %s an act is limited: %s", (ready, verdict, limited) => {
  expect(isLimitedOn({ ready, verdict: { verdict, rule: "" }, confirmedBy: undefined })).toBe(limited);
  expect(isLimitedOn({ ready, verdict: { verdict, rule: "" }, confirmedBy: "ops:alice" })).toBe(false);
});

test.each(["alive", "unknown", "unproven", "cut-off", "unmanaged", "self-isolated", "dead"] as const)(
  "an act on a board that is %s is limited when it is sent if it was limited when it was decided",
  (verdict) => {
    expect(isLimitedByValve({ board: "a", verdict, rule: "" })).toBe(isLimited({ verdict }));
  },
);

describe("a view of the valve", () => {
  const now = { mono: 10_000, wall: 0 };
  const later = shifted(now, 60_000);
  const view = { acts: 8, isUnknown: false, usedByNamespace: undefined, opensAt: later } as const;

  test.each([
    ["nothing that holds an act that is admitted now", { ...view, of: "acts", opensAt: now }, undefined],
    ["the limit of all acts", { ...view, of: "acts" }, ["acts", 8]],
    ["the acts that are kept for taints", { ...view, of: "pods", usedByNamespace: 3 }, ["pods", 8]],
    ["the share of a namespace, with its own acts", { ...view, of: "share", usedByNamespace: 4 }, ["share", 4]],
    [
      "that acts are unknown, before all else",
      { ...view, of: "pods", usedByNamespace: 0, isUnknown: true },
      ["unknown", 8],
    ],
  ] as const)("shows %s", (_, seen, expected) => {
    const found = shutValve(seen, 10, now);
    expect(found && [found.restraint.of, found.restraint.count]).toEqual(expected);
    expect(found?.until).toEqual(expected && later);
  });
});

/** Two zones of three boards; after a minute one board in each falls silent. */
async function siteWith(valve: ValveNow, silent: readonly string[] = ["a-1", "b-1"]): Promise<SiteModel> {
  const site = new SiteModel({ policy: "evidence", ownNode: "b-3" });
  for (const zone of ["a", "b"]) for (const index of [1, 2, 3]) site.board(`${zone}-${index}`, { zone });
  for (const name of silent) site.pod(`web-${name}`, { on: name });
  await site.run("2m");
  site.permit(valve);
  for (const name of silent) site.silence(name);
  await site.run("5m");
  return site;
}

const tainted = (site: SiteModel): readonly string[] =>
  ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"].filter((name) => site.noExecute(name).length > 0);

describe("a safety valve that is shut", () => {
  test("lets boards be marked but not tainted, for as long as it is shut", async () => {
    const site = await siteWith(shut);
    expect(tainted(site)).toEqual([]);
    expect(site.conditions("a-1").Ready).toBe("Unknown");
    expect(site.taints("a-1")).toEqual(["unreachable:NoSchedule"]);
    const held = site.recorded.lines.filter(({ message }) => message === "harmful act held");
    expect(held.map(({ fields: { object, why } }) => [object, why])).toEqual([
      ["node/a-1", "valve"],
      ["node/b-1", "valve"],
    ]);
    // The zones have kept their tokens.
    site.permit(openValve);
    await site.run("1s");
    expect(tainted(site)).toEqual(["a-1", "b-1"]);
  });

  test("keeps the pods of a board that is already tainted", async () => {
    const site = await siteWith(openValve, ["a-1"]);
    site.permit(shut);
    site.pod("late", { on: "a-1" });
    await site.run("5m");
    expect(site.exists("late")).toBe(true);
    site.permit(openValve);
    await site.run("1m");
    expect(site.exists("late")).toBe(false);
  });

  test("for one namespace keeps its pods only, and no board from being tainted", async () => {
    const site = await siteWith(openValve, []);
    const share: ValveNow["shut"] = { restraint: { ...restraint, of: "share", count: 4 }, until: undefined };
    site.permit((namespace) => (namespace === "shop" ? { ...halfOpen, shut: share } : halfOpen));
    for (const namespace of ["shop", "web"]) site.pod("pod", { on: "a-1", namespace });
    site.silence("a-1");
    await site.run("5m");
    expect(tainted(site)).toEqual(["a-1"]);
    expect(["shop/pod", "web/pod"].map((key) => site.api.find(pods, key) !== undefined)).toEqual([true, false]);
    expect(site.heldFor).toEqual(["valve"]);
  });

  test("does not hold a pod that a tenant bound to the board when nothing ran there any longer", async () => {
    const site = await siteWith(openValve, ["a-1"]);
    site.permit(shut);
    for (const name of ["x", "y"])
      site.api.put(pods, { ...pod(name, { on: "a-1" }), status: { phase: "Pending" } } as Pod);
    await site.run("1m");
    expect(["x", "y"].some((name) => site.exists(name))).toBe(false);
  });

  test("keeps a board untainted that answered on the LAN and no longer does", async () => {
    const site = await siteWith(shut, []);
    site.answer("a-1", { is: "ok" });
    site.silence("a-1");
    await site.run("5m");
    expect(site.heldFor).toEqual(["verdict"]);
    site.answer("a-1", undefined);
    await site.run("1m");
    expect(site.heldFor).toEqual(["valve"]);
    expect(tainted(site)).toEqual([]);
    site.permit(openValve);
    await site.run("1s");
    expect(tainted(site)).toEqual(["a-1"]);
  });

  test("does not keep the taint of a board that is shown to run", async () => {
    const site = await siteWith(openValve, ["a-1"]);
    expect(tainted(site)).toEqual(["a-1"]);
    site.permit(shut);
    site.answer("a-1", { is: "ok" });
    await site.run("1m");
    expect(tainted(site)).toEqual([]);
  });

  test("does not keep the taint of a board that is back", async () => {
    const site = await siteWith(openValve, ["a-1"]);
    site.permit(shut);
    site.revive("a-1");
    site.report("a-1");
    await site.run("1m");
    expect(tainted(site)).toEqual([]);
  });

  test("does not hold evictions that a user's own taint requires", async () => {
    const site = await siteWith(shut, []);
    site.pod("web", { on: "a-1" });
    site.setTaints("a-1", { key: "maintenance", effect: "NoExecute" });
    await site.run("1m");
    expect(site.exists("web")).toBe(false);
  });
});

test("of two boards in zones that have a token each, only one is tainted if the safety valve permits one", async () => {
  const site = await siteWith(shut);
  site.permit({ ...openValve, boards: 1 });
  await site.run("1m");
  expect(tainted(site)).toHaveLength(1);
  site.permit(openValve);
  await site.run("1m");
  expect(tainted(site)).toEqual(["a-1", "b-1"]);
});

/** How many seconds it takes until a board is tainted. */
async function untilTainted(site: SiteModel, name: string): Promise<number> {
  for (let seconds = 1; seconds < 300; seconds++) {
    await site.run("1s");
    if (site.noExecute(name).length > 0) return seconds;
  }
  throw new Error(`${name} was not tainted`);
}

describe("a board that reports itself that it is not ready", () => {
  const limit: ValveNow = { ...openValve, boards: 1 };

  test("takes no place of those that are tainted because they are silent", async () => {
    const site = await siteWith(limit, []);
    site.report("a-1", { Ready: "False" });
    site.silence("b-1");
    await site.run("5m");
    expect(tainted(site)).toEqual(["a-1", "b-1"]);
  });

  test("takes none in the pass that taints both either", async () => {
    const probe = await siteWith(limit, []);
    probe.silence("b-1");
    const seconds = await untilTainted(probe, "b-1");
    const site = await siteWith(limit, []);
    site.silence("b-1");
    // Boards are judged every five seconds.
    await site.run(`${seconds - 3}s`);
    site.report("a-1", { Ready: "False" });
    await site.run("3s");
    expect(tainted(site)).toEqual(["a-1", "b-1"]);
  });

  test("and then falls silent keeps the taint that it has while the valve is shut", async () => {
    const site = await siteWith(openValve, []);
    site.report("a-1", { Ready: "False" });
    await site.run("1m");
    site.permit(shut);
    site.silence("a-1");
    await site.run("5m");
    expect([site.conditions("a-1").Ready, site.noExecute("a-1")]).toEqual(["Unknown", ["not-ready:NoExecute"]]);
    site.permit(openValve);
    await site.run("10s");
    expect(site.noExecute("a-1")).toEqual(["unreachable:NoExecute"]);
  });
});

describe("if half of the boards may be tainted", () => {
  test("no more are tainted, regardless of their zones", async () => {
    const site = new SiteModel({ policy: "evidence", ownNode: "c" });
    for (const name of ["a", "b", "c"]) site.board(name, { zone: name });
    await site.run("2m");
    site.permit(halfOpen);
    for (const name of ["a", "b"]) site.silence(name);
    await site.run("10m");
    expect(["a", "b"].filter((name) => site.noExecute(name).length > 0)).toHaveLength(1);
    site.permit(openValve);
    await site.run("1m");
    expect(["a", "b"].every((name) => site.noExecute(name).length > 0)).toBe(true);
  });

  test("the next one is tainted once one of them is back", async () => {
    const site = new SiteModel({ policy: "evidence", ownNode: "c" });
    for (const name of ["a", "b", "c"]) site.board(name, { zone: name });
    await site.run("2m");
    site.permit(halfOpen);
    for (const name of ["a", "b"]) site.silence(name);
    await site.run("5m");
    const [first = "", second = ""] = ["a", "b"].sort((a, b) => site.noExecute(b).length - site.noExecute(a).length);
    expect(site.noExecute(second)).toEqual([]);
    site.revive(first);
    site.report(first);
    await site.run("1m");
    expect([first, second].map((name) => site.noExecute(name).length)).toEqual([0, 1]);
  });
});

describe("Pod GC", () => {
  const now = { mono: 0, wall: 0 };
  const none = { ended: [], outOfService: [], missing: ["gone"], unbound: [], kind: "pass" } as const;
  const state = (valve: ValveNow) => ({
    ...none,
    lookups: new Map([["gone", "deleted"]] as const),
    shut: (namespace: string | undefined) => (namespace === "web" ? undefined : valve.shut),
    orphans: [{ board: "gone", pods: [pod("lost", { on: "gone" })], hasMore: false }],
    ended: [pod("ended", { on: "gone" })],
  });

  test("keeps the pods of deleted boards while the valve is shut, records that, and checks again in each pass", () => {
    const memory = { ...firstGcMemory, waiting: new Map([["gone", now]]) };
    const held = gc(state(shut), memory, now);
    const targets = held.actions.flatMap((action) => ("target" in action ? [action.target.name] : []));
    expect(new Set(targets)).toEqual(new Set(["ended"]));
    expect(held.due).toMatchObject([{ on: { name: "lost" }, grounds: { act: "pod-collected" }, restraint }]);
    expect(held.due?.map(({ grounds }) => rulingOf(grounds))).toEqual(["valve"]);
    expect(held.memory.waiting.get("gone")).toEqual(now);
    const later = shifted(now, 1000);
    expect(gc({ kind: "idle" }, held.memory, later).due).toEqual(held.due);
    const others = pod("others", { on: "gone", namespace: "web" });
    // A tenant may bind any number of pods to a board that never existed.
    const invented = { ...pod("invented", { on: "gone" }), status: { phase: "Pending" } };
    const mixed = { ...state(shut), orphans: [{ board: "gone", pods: [invented], hasMore: false }] };
    const harmless = gc(mixed, memory, now);
    expect(harmless.due).toEqual([]);
    const grounds = harmless.actions.flatMap((action) => ("grounds" in action && action.grounds ? action.grounds : []));
    expect(grounds.map(rulingOf)).toEqual(["act"]);
    expect(harmless.actions.some((action) => "target" in action && action.target.name === "invented")).toBe(true);
    const shares = {
      ...state(shut),
      orphans: [{ board: "gone", pods: [pod("lost", { on: "gone" }), others], hasMore: false }],
    };
    const shared = gc(shares, memory, now);
    expect(shared.due).toMatchObject([{ on: { name: "lost", namespace: "default" } }]);
    expect(shared.actions.some((action) => "target" in action && action.target.name === "others")).toBe(true);
    const open = gc(state(openValve), held.memory, shifted(now, 20_000));
    expect(open.due).toEqual([]);
    expect(open.actions.some((action) => "target" in action && action.target.name === "lost")).toBe(true);
  });
});
