import { expect, test } from "vitest";
import { SiteModel } from "../site-model.ts";

const unreachable = "unreachable:NoExecute";

/** `dark` boards of a zone fall silent at once; the leader may write the conditions of five in a pass. */
function largeSite(dark: number, { alive = 3, policy = "kubernetes" as const } = {}): SiteModel {
  const site = new SiteModel({ policy });
  site.allowance = 5;
  for (let i = 0; i < alive; i++) site.board(`alive-${i}`, { zone: "lit" });
  for (let i = 0; i < dark; i++) site.board(`dark-${i}`, { zone: "dark", silent: true });
  return site;
}

const written = (site: SiteModel): number => site.times(/Ready=Unknown/).length;
const stateOf = (site: SiteModel, zone: string): string | undefined =>
  [...site.memory.zones].find(([name]) => name.endsWith(zone))?.[1].state;

test("a zone is judged by all of its silent boards, even if only a few are marked yet", async () => {
  const site = largeSite(100);
  await site.run("51s");
  expect(written(site)).toBe(10);
  expect([stateOf(site, "dark"), stateOf(site, "lit")]).toEqual(["full", "normal"]);
  expect([...site.memory.boards.values()].filter(({ unwritten }) => unwritten)).toHaveLength(90);
});

test("each pass marks as many boards as allowed, until all are marked", async () => {
  const site = largeSite(23);
  await site.run("51s");
  expect(written(site)).toBe(10);
  expect(site.memory.behindSince).toBeDefined();
  await site.run("15s");
  expect(written(site)).toBe(23);
  await site.run("5s");
  expect(site.memory.behindSince).toBeUndefined();
});

test("a board whose conditions are not written yet does not get a taint, and the others get theirs at the rate of their zone", async () => {
  const site = largeSite(40);
  await site.run("85s");
  const tainted = site.times(/\+unreachable:NoExecute/);
  expect(tainted.length).toBeGreaterThan(2);
  for (const [i, at] of tainted.entries()) expect(Math.round(at - (tainted[i - 1] ?? -10))).toBeGreaterThanOrEqual(10);
  for (let i = 0; i < 40; i++) {
    const isMarked = site.conditions(`dark-${i}`).Ready === "Unknown";
    if (!isMarked) expect(site.noExecute(`dark-${i}`)).toEqual([]);
  }
});

test("on a site that falls silent as a whole no board is evicted, even while most are not marked yet", async () => {
  const site = largeSite(60, { alive: 0 });
  site.setTaints("dark-7", { key: "node.kubernetes.io/unreachable", effect: "NoExecute" });
  await site.run("46s");
  expect(written(site)).toBe(5);
  expect(stateOf(site, "dark")).toBe("full");
  expect(site.noExecute("dark-7")).toEqual([]);
  await site.run("5m");
  expect(written(site)).toBe(60);
  expect(site.times(/\+unreachable:NoExecute/)).toEqual([]);
});

test("a leader that cannot write still knows the state of its zones", async () => {
  const site = largeSite(30);
  site.allowance = 0;
  await site.run("1m");
  expect([written(site), stateOf(site, "dark")]).toEqual([0, "full"]);
  expect(site.memory.judgedAt).toMatchObject({ mono: site.now.mono });
});

test("a board that returns while hundreds are waiting for their taints has its own removed in the next pass", async () => {
  const site = largeSite(300);
  await site.run("60s");
  const [lost] = [...Array(300).keys()].map((i) => `dark-${i}`).filter((name) => site.noExecute(name).length > 0);
  expect(lost).toBeDefined();
  site.revive(lost ?? "");
  await site.run("5s");
  expect(site.noExecute(lost ?? "")).toEqual([]);
  expect(stateOf(site, "dark")).not.toBe("full");
});

test("a board that reports before its turn is never marked", async () => {
  const site = largeSite(20);
  await site.run("46s");
  const [waiting] = [...site.memory.boards].filter(([, { unwritten }]) => unwritten).map(([name]) => name);
  site.renew(waiting ?? "");
  await site.run("30s");
  expect(site.conditions(waiting ?? "").Ready).toBe("True");
});

test("the pods of a board leave service when the board is marked, or in a later pass if they exceed the limit of a pass", async () => {
  const site = largeSite(2);
  for (let i = 0; i < 12; i++) site.pod(`web-${i}`, { on: "dark-0", tolerations: [{ operator: "Exists" }] });
  const ready = (): number => [...Array(12).keys()].filter((i) => site.podReady(`web-${i}`) === "True").length;
  await site.run("46s");
  // One of the five writes is the taint whose turn it is.
  expect([written(site), ready()]).toEqual([2, 8]);
  await site.run("15s");
  expect(ready()).toBe(0);
});

test("a board that falls silent gets its turn even while other boards return", async () => {
  const site = largeSite(50);
  site.allowance = 1000;
  await site.run("1h");
  const tainted = [...Array(50).keys()].map((i) => `dark-${i}`).filter((name) => site.noExecute(name).length > 0);
  expect(tainted).toHaveLength(50);
  site.board("other", { zone: "third", silent: true });
  await site.run("44s");
  site.allowance = 1;
  site.revive(...tainted.slice(0, 5));
  await site.run("1m");
  expect(site.noExecute("other")).toEqual([unreachable]);
});

test("a board that returned and is constantly written to is released before its Node has another version", async () => {
  const site = largeSite(300);
  await site.run("60s");
  const [lost = ""] = [...Array(300).keys()].map((i) => `dark-${i}`).filter((name) => site.noExecute(name).length > 0);
  site.revive(lost);
  // Its kubelet reports while the conditions of others are written: what was read before that is outdated afterwards.
  site.refuse = (action) => {
    if (action.do === "patch" && action.subresource === "status" && action.target.resource.kind === "Node")
      site.report(lost);
    return undefined;
  };
  await site.run("5s");
  expect(site.noExecute(lost)).toEqual([]);
});

test("the memory of a board without changes is not stored again, whether the board is marked or not", async () => {
  const site = largeSite(30);
  await site.run("60s");
  const before = site.memory.boards;
  await site.run("5s");
  const after = site.memory.boards;
  const waiting = [...after].filter(([, { unwritten }]) => unwritten).map(([name]) => name);
  expect(waiting.length).toBeGreaterThan(0);
  for (const name of ["dark-0", ...waiting]) expect(after.get(name)).toBe(before.get(name));
});
