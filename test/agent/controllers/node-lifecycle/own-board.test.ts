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

describe("when a board falls silent", () => {
  test("on which the leader runs, its Node becomes Unknown, and its pods are not evicted", async () => {
    const site = await siteAfter("evidence", "pi-1");
    expect(site.conditions("pi-1").Ready).toBe("Unknown");
    expect(site.taints("pi-1")).toEqual(["unreachable:NoSchedule"]);
    expect(site.exists("web")).toBe(true);
    expect(site.podReady("web")).toBe("True");
  });

  test.each([
    ["evidence", "pi-2"],
    ["kubernetes", "pi-1"],
  ] as const)("its pods are evicted under policy %s by a leader on %s", async (policy, ownNode) => {
    const site = await siteAfter(policy, ownNode);
    expect(site.noExecute("pi-1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web")).toBe(false);
  });

  test("on which the leader runs, a pod that arrives there stays ready", async () => {
    const site = await siteAfter("evidence", "pi-1");
    site.pod("late", { on: "pi-1" });
    await site.run("10m");
    expect(site.podReady("late")).toBe("True");
    expect(site.exists("late")).toBe(true);
  });

  test("and is tainted by a leader elsewhere, its pods are kept once it leads itself", async () => {
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
