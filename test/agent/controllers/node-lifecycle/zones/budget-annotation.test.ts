import { describe, expect, test } from "vitest";
import { firstMemory } from "../../../../../agent/controllers/node-lifecycle/memory.ts";
import { decodeBudget, encodeBudget } from "../../../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { taint, toleration } from "../../../../support/builders.ts";
import { SiteModel } from "../../site-model.ts";

const now = { mono: 7_000, wall: 0 };

/** Zone a has lost a board, which was tainted; a second one waits. */
async function leader(): Promise<SiteModel> {
  const site = new SiteModel();
  for (const name of ["a1", "a2"]) site.board(name, { zone: "a", conditions: { Ready: "False" } });
  for (const name of ["a3", "a4", "a5"]) site.board(name, { zone: "a" });
  site.board("b", { zone: "b" });
  await site.run("5s");
  return site;
}

describe("the budget in the Lease", () => {
  test("carries states, allowances, evictions and running taints", async () => {
    const site = await leader();
    expect(JSON.parse(site.budget)).toEqual({
      v: 1,
      zones: {
        ":\u0000:a": { state: "normal", level: 0.49, evictions: 1 },
        ":\u0000:b": { state: "normal", level: 1, evictions: 0 },
      },
      boards: { a1: { s: 4, added: "2026-01-01T00:00:00Z" } },
    });
  });

  test("counts a taint from the end of its write, so a slow link does not shorten toleration times", async () => {
    const site = new SiteModel();
    site.board("lost", { conditions: { Ready: "False" } });
    site.board("other");
    site.pod("web", { on: "lost", tolerations: [toleration("not-ready", 60)] });
    let tries = 0;
    site.refuse = (action) => {
      // The first one meets the NoSchedule taint of the same moment.
      if (JSON.stringify(action).includes("NoExecute") && ++tries === 2) site.skip("25s");
      return undefined;
    };
    await site.run("30s");
    expect(site.times("lost +not-ready:NoExecute")).toEqual([25.1]);
    expect(JSON.parse(site.budget).boards.lost).toMatchObject({ s: 4 });
    await site.lead({ budget: site.budget });
    await site.run("1s");
    // The next leader gives the kubelet a grace period to withdraw its report.
    site.report("lost");
    await site.run("53s");
    expect(site.exists("web")).toBe(true);
    await site.run("2s");
    expect(site.exists("web")).toBe(false);
  });

  test("keeps the time of a taint that the next leader's cache shows only after its first pass", async () => {
    const site = new SiteModel({ policy: "evidence", ownNode: "other" });
    for (const name of ["lost", "other", "third"]) site.board(name);
    await site.run("1m");
    site.silence("lost");
    await site.run("2m");
    const { budget } = site;
    const { s } = JSON.parse(budget).boards.lost;
    const { spec = {} } = site.node("lost");
    site.change("lost", (node) => ({ ...node, spec: { ...node.spec, taints: [] } }));
    await site.lead({ budget });
    await site.run("2s");
    expect(JSON.parse(site.budget).boards).toEqual({});
    site.change("lost", (node) => ({ ...node, spec }));
    await site.run("8s");
    expect(JSON.parse(site.budget).boards.lost).toMatchObject({ s: s + 10 });
  });

  test("is read relative to the reader's own clock", () => {
    const budget = decodeBudget('{"v":1,"zones":{},"boards":{"pi":{"s":200,"added":"x"}}}', now);
    expect(budget?.taints.get("pi")?.since.mono).toBe(7_000 - 200_000);
  });

  test("is unchanged when a successor reads and writes it", async () => {
    const site = await leader();
    const left = site.budget;
    await site.lead({ budget: left });
    await site.run("0s");
    expect(site.budget).toBe(left);
  });

  test("keeps unknown fields of a newer program", async () => {
    const site = await leader();
    const left = JSON.parse(site.budget);
    left.freezes = [{ until: 5 }];
    left.zones[":\u0000:a"].pause = "p";
    left.boards.a1.vouched = true;
    await site.lead({ budget: JSON.stringify(left) });
    await site.run("20s");
    const right = JSON.parse(site.budget);
    expect(right.freezes).toEqual([{ until: 5 }]);
    expect(right.zones[":\u0000:a"]).toMatchObject({ pause: "p", evictions: 2 });
    expect(right.boards.a1).toMatchObject({ vouched: true, s: 24 });
  });

  test.each([undefined, "", "{", "null", "[]", "7", '"v"', "{}", '{"v":2,"zones":{}}', '{"v":"1"}'])(
    "%j is invalid",
    (text) => {
      expect(decodeBudget(text, now)).toBeUndefined();
    },
  );

  test.each([
    '{"v":1}',
    '{"v":1,"zones":7,"boards":"x"}',
    '{"v":1,"zones":{"a":null,"b":{"state":"odd","level":1},"c":{"state":"full","level":-1},"d":{"state":"full"}}}',
    '{"v":1,"boards":{"a":null,"b":{"s":"1"},"c":{"s":-5},"d":{"s":1e300}}}',
  ])("malformed entries of %s are left out", (text) => {
    expect(decodeBudget(text, now)).toMatchObject({ zones: new Map(), taints: new Map() });
  });

  test("a level above one is read as 1", () => {
    expect(decodeBudget('{"v":1,"zones":{"":{"state":"normal","level":9}}}', now)?.zones.get("")?.level).toBe(1);
  });

  test("an empty memory is an empty budget", () => {
    expect(encodeBudget(firstMemory, 7, now)).toBe('{"v":1,"term":7,"zones":{},"boards":{}}');
  });

  test("does not outgrow an annotation, regardless of how many boards are tainted", async () => {
    const site = new SiteModel();
    site.board("alive");
    for (let index = 0; index < 600; index++) {
      const taints = [taint("not-ready:NoExecute", "2026-01-01T00:00:00Z")];
      site.board(`board-${index}`, { conditions: { Ready: "False" }, taints });
    }
    await site.run("0s");
    expect(site.budget.length).toBeLessThan(64_000);
  });

  test("does not outgrow an annotation because of its number of zones or of what other clients wrote into it, either", async () => {
    const site = new SiteModel();
    for (let index = 0; index < 1000; index++) site.board(`board-${index}`, { zone: `${index}-${"z".repeat(58)}` });
    await site.lead({ budget: JSON.stringify({ v: 1, notes: "n".repeat(90_000) }) });
    await site.run("0s");
    expect(site.budget.length).toBeGreaterThan(90_000);
    expect(site.budget.length).toBeLessThan(200_000);
    expect(decodeBudget(JSON.stringify({ v: 1, notes: "n".repeat(120_000) }), now)).toBeUndefined();
  });
});

describe("a new leader", () => {
  const lost = { conditions: { Ready: "Unknown" }, silent: true } as const;

  test("continues with the allowance that is left, and no more", async () => {
    const site = await leader();
    await site.lead({ budget: site.budget });
    await site.run("20s");
    expect(site.times(/\+not-ready:NoExecute/)).toEqual([0.1, 10.1]);
  });

  test("counts a board that was tainted after the last renewal, whose token is spent", async () => {
    const site = new SiteModel({ evictionRate: 0.01 });
    for (const name of ["a", "b", "c", "d", "e"]) site.board(name);
    await site.run("1s");
    const left = site.budget;
    site.report("a", { Ready: "False" });
    site.report("b", { Ready: "False" });
    await site.run("5s");
    await site.lead({ budget: left });
    await site.run("200s");
    const [first = 0, second = 0] = site.times(/\+not-ready:NoExecute/);
    expect(second - first).toBeGreaterThanOrEqual(100);
    expect(JSON.parse(site.budget).zones[""].evictions).toBe(2);
  });

  test.each([
    ["kubernetes", [5]],
    ["evidence", []],
  ] as const)("at a rate of 0 taints as many boards as policy %s allows in a new zone: %j", async (policy, times) => {
    const site = new SiteModel({ policy, evictionRate: 0 });
    for (const name of ["a", "b", "c", "d", "e"]) site.board(name);
    await site.run("1s");
    site.report("a", { Ready: "False" });
    site.report("b", { Ready: "False" });
    await site.run("1h");
    expect(site.times(/\+not-ready:NoExecute/)).toEqual(times);
  });

  test.each([
    ["kubernetes", [0.1, 5]],
    ["evidence", [10, 20]],
  ] as const)("without a budget starts as policy %s requires", async (policy, times) => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b"]) site.board(name, { conditions: { Ready: "False" } });
    for (const name of ["c", "d", "e"]) site.board(name);
    await site.run("1s");
    if (policy === "kubernetes") {
      await site.run("4s");
      await site.lead();
    }
    await site.run("25s");
    expect(site.times(/\+not-ready:NoExecute/)).toEqual(times);
  });

  test("leaves taints in place that are still justified, and removes the others", async () => {
    const site = new SiteModel();
    site.board("dead", { ...lost, taints: [taint("unreachable:NoExecute", "2025-12-31T23:00:00Z")] });
    site.board("alive", { taints: [taint("unreachable:NoExecute", "2025-12-31T23:00:00Z")] });
    await site.run("5m");
    expect(site.times(/NoExecute/)).toEqual([0]);
    expect(site.noExecute("dead")).toEqual(["unreachable:NoExecute"]);
    expect(site.noExecute("alive")).toEqual([]);
    expect(site.node("dead").spec?.taints?.[0]?.timeAdded).toBe("2025-12-31T23:00:00Z");
  });

  test("does nothing at all if every zone was silent before", async () => {
    const site = new SiteModel();
    site.board("a", { ...lost, taints: [taint("unreachable:NoExecute")] });
    await site.lead({ budget: '{"v":1,"zones":{"":{"state":"full","level":0,"evictions":0}},"boards":{}}' });
    await site.run("10m");
    expect(site.noExecute("a")).toEqual(["unreachable:NoExecute"]);
    expect(site.memory.zones.get("")).toMatchObject({ state: "full", rate: 0 });
  });

  test("gives all boards a fresh grace period when one board of such a site returns", async () => {
    const site = new SiteModel();
    site.board("a", { ...lost, zone: "a" });
    site.board("b", { ...lost, zone: "b" });
    const full = { state: "full", level: 0, evictions: 0 };
    await site.lead({ budget: JSON.stringify({ v: 1, zones: { ":\u0000:a": full, ":\u0000:b": full } }) });
    await site.run("58s");
    site.revive("b");
    await site.run("60s");
    expect(site.times("a +unreachable:NoExecute")).toEqual([70]);
  });

  test("keeps the age of a running taint", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("dead", { ...lost, taints: [taint("unreachable:NoExecute", "T1")] });
    await site.lead({ budget: '{"v":1,"zones":{},"boards":{"dead":{"s":100,"added":"T1"}}}' });
    await site.run("10s");
    expect(JSON.parse(site.budget).boards.dead).toEqual({ s: 110, added: "T1" });
    site.setTaints("dead", taint("unreachable:NoExecute", "T2"));
    await site.run("10s");
    expect(JSON.parse(site.budget).boards.dead).toEqual({ s: 5, added: "T2" });
  });
});
