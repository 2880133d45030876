import { describe, expect, test } from "vitest";
import type { Policy } from "../../../../agent/judgement/verdict.ts";
import { SiteModel } from "../site-model.ts";

const unreachable = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

/** Three boards; after a minute the kubelet of pi-1 falls silent. The leader runs on `ownNode`. */
async function siteAfter(policy: Policy, ownNode: string): Promise<SiteModel> {
  const site = new SiteModel({ policy, ownNode });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  site.pod("web", { on: "pi-1" });
  await site.run("1m");
  site.silence("pi-1");
  await site.run("10m");
  return site;
}

describe("a board falls silent", () => {
  test("that the leader runs on: its Node becomes Unknown, and its pods are not harmed", async () => {
    const site = await siteAfter("evidence", "pi-1");
    expect(site.conditions("pi-1").Ready).toBe("Unknown");
    expect(site.taints("pi-1")).toEqual(["unreachable:NoSchedule"]);
    expect(site.exists("web")).toBe(true);
    expect(site.podReady("web")).toBe("True");
  });

  test.each([
    ["evidence", "pi-2"],
    ["kubernetes", "pi-1"],
  ] as const)("under policy %s with the leader on %s: its pods are evicted", async (policy, ownNode) => {
    const site = await siteAfter(policy, ownNode);
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web")).toBe(false);
  });

  test("and a pod arrives: the leader on that board leaves the pod ready", async () => {
    const site = await siteAfter("evidence", "pi-1");
    site.pod("late", { on: "pi-1" });
    await site.run("10m");
    expect(site.podReady("late")).toBe("True");
    expect(site.exists("late")).toBe(true);
  });

  test("and was tainted by a leader elsewhere: once this board leads, its pods stay", async () => {
    const site = await siteAfter("evidence", "pi-1");
    site.setTaints("pi-1", unreachable);
    await site.run("10m");
    expect(site.exists("web")).toBe(true);
    site.revive("pi-1");
    site.report("pi-1");
    await site.run("1m");
    expect(site.taints("pi-1")).toEqual([]);
  });
});
