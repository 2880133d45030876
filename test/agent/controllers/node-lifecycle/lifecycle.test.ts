import { describe, expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import { nodes } from "../../../../agent/api/resources.ts";
import { taint } from "../../../support/builders.ts";
import { defaults, SiteModel } from "../site-model.ts";

const lost = ["unreachable:NoExecute"];

/** Boards that stopped renewing long before the story begins; Ready is still True. */
function silentSite(...zones: readonly (readonly string[])[]): SiteModel {
  const site = new SiteModel();
  for (const [index, names] of zones.entries()) {
    for (const name of names) site.board(name, { silent: true, zone: `zone-${index}` });
  }
  return site;
}

/** The rules themselves stand as cases in test/cases/NH, TN and HD and are not repeated here. */

describe("silence (NH)", () => {
  test("policy evidence ignores the Node's creation time: the board gets its grace period from now on", async () => {
    const site = new SiteModel({ policy: "evidence" });
    site.board("pi", { lease: false, conditions: { Ready: "-" }, created: "2025-01-01T00:00:00Z" });
    await site.run("60s");
    expect(site.conditions("pi")).toEqual({});
    await site.run("10s");
    expect(site.conditions("pi")).toMatchObject({ Ready: "Unknown" });
  });

  test.each(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday", ""])(
    "a heartbeat of %j is compared for change, never read as a time",
    async (heartbeat) => {
      const site = new SiteModel();
      site.board("pi", { heartbeat, created: heartbeat });
      site.board("lost", { heartbeat, created: heartbeat, silent: true });
      await site.run("45s");
      expect([site.conditions("pi").Ready, site.conditions("lost").Ready]).toEqual(["True", "Unknown"]);
    },
  );

  test("a Ready condition that another client removes is not a sign of life, but a new one is", async () => {
    const site = new SiteModel();
    for (const name of ["pi", "other", "third"]) site.board(name);
    await site.run("20s");
    site.silence("pi");
    const without = (node: Node): Node => ({ ...node, status: { conditions: [] } });
    await site.run("35s");
    site.change("pi", without);
    await site.run("25s");
    expect(site.conditions("pi")).toEqual({});
    await site.run("5s");
    expect([site.conditions("pi").Ready, site.times("pi Ready=Unknown")]).toEqual(["Unknown", [85]]);
    site.change("pi", without);
    await site.run("1s");
    site.report("pi", { Ready: "True" });
    await site.run("49s");
    expect(site.conditions("pi").Ready).toBe("True");
    await site.run("5s");
    expect(site.conditions("pi").Ready).toBe("Unknown");
  });

  test("a board that reports between two attempts to write its conditions remains unchanged", async () => {
    const site = silentSite(["a", "b"]);
    let tries = 0;
    site.refuse = (action) => {
      if (action.do !== "patch" || action.target.name !== "a" || ++tries > 1) return undefined;
      site.report("a", { DiskPressure: "False" });
      return "refresh";
    };
    await site.run("46s");
    expect(tries).toBe(1);
    expect(site.conditions("a")).toEqual({ Ready: "True", DiskPressure: "False" });
    expect(site.conditions("b")).toMatchObject({ Ready: "Unknown" });
    expect(site.noExecute("a")).toEqual([]);
  });

  test("a zone that appears empty because nothing could be written keeps its allowance", async () => {
    const site = silentSite(["a", "b"], ["c", "d"]);
    site.board("e", { zone: "zone-1" });
    await site.run("46s");
    site.refuse = ({ do: what }) => (what === "patch" ? "retry" : undefined);
    site.report("a", { Ready: "True" });
    site.report("b", { Ready: "True" });
    await site.run("60s");
    expect(site.memory.zones.size).toBe(2);
  });

  test("boards whose conditions could not be written do not count in their zone, as upstream", async () => {
    const site = silentSite(["a", "b", "c"]);
    site.board("d", { zone: "zone-0" });
    site.refuse = ({ do: what }) => (what === "patch" ? "retry" : undefined);
    await site.run("60s");
    expect([...site.memory.zones.values()].map(({ state }) => state)).toEqual(["normal"]);
    site.refuse = () => undefined;
    await site.run("10s");
    expect([...site.memory.zones.values()].map(({ state }) => state)).toEqual(["partial"]);
  });

  test("a board that returns is ready and untainted in the next pass", async () => {
    const site = silentSite(["pi"]);
    site.board("other");
    await site.run("60s");
    expect(site.taints("pi")).toEqual(["unreachable:NoExecute", "unreachable:NoSchedule"]);
    site.revive("pi");
    await site.run("5s");
    expect(site.taints("pi")).toEqual([]);
    expect(site.memory.boards.get("pi")?.taint).toBeUndefined();
  });
});

describe("which taint is added, and when (TN)", () => {
  test("a turn that met a newer version is repeated with the same token as soon as the cache has that version", async () => {
    const site = new SiteModel({ evictionRate: 0.01 });
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    let conflicts = 0;
    site.refuse = (action) => {
      if (action.do !== "patch" || !action.cause || conflicts++ > 0) return undefined;
      site.change("pi", (node) => ({ ...node, metadata: { ...node.metadata, labels: { touched: "yes" } } }));
      return "refresh";
    };
    await site.run("2s");
    expect(site.times("pi +unreachable:NoExecute")).toEqual([0.1]);
    expect(site.node("pi").metadata.labels).toMatchObject({ touched: "yes" });
  });

  test("a version that never arrives costs the turn its token after three monitor periods", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" }, taints: [taint("unreachable:NoSchedule")] });
    let conflicts = 0;
    site.refuse = (action) => (action.do === "patch" && action.cause && conflicts++ < 1 ? "refresh" : undefined);
    await site.run("60s");
    expect(site.times("pi +unreachable:NoExecute")).toEqual([15]);
  });

  test.each([
    { policy: "kubernetes", turns: [0.1, 20.1] },
    { policy: "evidence", turns: [10, 20] },
  ] as const)(
    "under policy $policy a board that is deleted while it waits leaves the queue",
    async ({ policy, turns }) => {
      const site = new SiteModel({ policy });
      for (const name of ["a", "b", "c", "d", "e", "f"]) site.board(name);
      for (const name of ["a", "b", "c"]) site.report(name, { Ready: "False" });
      await site.run("3s");
      site.remove("c");
      await site.run("60s");
      expect(site.times(/\+not-ready:NoExecute/)).toEqual(turns);
      expect(site.memory.zones.get("")?.queue.waiting.size).toBe(0);
    },
  );

  test("the pods of a board that reports itself not ready are marked by its kubelet, not by the leader", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi");
    site.pod("web", { on: "pi", tolerations: [{ operator: "Exists" }] });
    await site.run("5s");
    site.report("pi", { Ready: "False" });
    await site.run("10m");
    expect(site.noExecute("pi")).toEqual(["not-ready:NoExecute"]);
    expect(site.podReady("web")).toBe("True");
    expect(site.times(/NodeNotReady/)).toEqual([]);
  });

  test("pods that one term left unmarked are marked by the next one, once the board is proven silent", async () => {
    const site = new SiteModel({ policy: "evidence" });
    site.board("other");
    for (const name of ["dead", "alive"]) {
      site.board(name, { silent: name === "dead", conditions: { Ready: "Unknown" } });
      site.pod(`on-${name}`, { on: name, tolerations: [{ operator: "Exists" }] });
    }
    await site.run("40s");
    expect(site.podReady("on-dead")).toBe("True");
    await site.run("10s");
    expect(site.podReady("on-dead")).toBe("False");
    await site.run("10m");
    expect(site.podReady("on-alive")).toBe("True");
    expect(site.times(/NodeNotReady/)).toEqual([45]);
  });

  test("malformed statuses count neither as ready nor as a reason to act", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Perhaps" }, taints: [taint("dedicated:NoExecute")] });
    await site.run("60s");
    expect(site.taints("pi")).toEqual(["dedicated:NoExecute"]);
  });

  test("a Node without spec, status and labels is tolerated and not harmed", async () => {
    const site = new SiteModel();
    site.board("other");
    site.api.put(nodes, { metadata: { name: "bare", uid: "uid-bare", resourceVersion: "1" } });
    await site.run("10s");
    expect(site.taints("bare")).toEqual([]);
    expect(site.times("RegisteredNode other")).toEqual([0]);
  });
});

describe("zones under disruption (HD)", () => {
  const unknown = { conditions: { Ready: "Unknown" } } as const;

  test("a taint that could not be removed when all boards fell silent is removed as soon as possible", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, taints: [taint("unreachable:NoExecute")] });
    site.board("b", unknown);
    site.refuse = ({ do: what }) => (what === "patch" ? "retry" : undefined);
    await site.run("12s");
    expect(site.noExecute("a")).toEqual(lost);
    site.refuse = () => undefined;
    await site.run("5s");
    expect(site.noExecute("a")).toEqual([]);
    site.setTaints("a", taint("unreachable:NoExecute"));
    await site.run("10m");
    expect(site.noExecute("a")).toEqual(lost);
  });

  test.each([
    ["kubernetes", 0, []],
    ["evidence", 0.1, lost],
  ] as const)(
    "a board of a new zone joins a dark site under policy %s: the others continue at %f",
    async (policy, rate, taints) => {
      const site = new SiteModel({ policy });
      site.board("a", { zone: "a", silent: true });
      await site.run("60s");
      expect(site.memory.zones.get(":\u0000:a")).toMatchObject({ state: "full", rate: 0 });
      site.board("b", { zone: "b" });
      await site.run("5m");
      expect(site.memory.zones.get(":\u0000:a")?.rate).toBe(rate);
      expect(site.noExecute("a")).toEqual(taints);
    },
  );

  test("a board tainted in the pass before full disruption loses its taint, and no taint is added in that pass", async () => {
    const site = silentSite(["a"], ["b"]);
    await site.run("45s");
    expect(site.conditions("a")).toMatchObject({ Ready: "Unknown" });
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([]);
    await site.run("10m");
    expect([site.noExecute("a"), site.noExecute("b")]).toEqual([[], []]);
  });

  test("a small zone that is mostly lost stops evictions, and resumes when it recovers", async () => {
    const site = silentSite(["a", "b", "c"]);
    for (const name of ["d", "e"]) site.board(name, { zone: "zone-0" });
    await site.run("5m");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([]);
    site.revive("a");
    await site.run("1m");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([315, 325]);
  });

  test("an excluded board does not make its zone appear dead", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, labels: { "node.kubernetes.io/exclude-disruption": "" } });
    site.board("b");
    await site.run("1s");
    expect(site.memory.zones.get("")?.state).toBe("normal");
    expect(site.noExecute("a")).toEqual(lost);
  });

  test("a board that moves to another zone waits for a turn there", async () => {
    const site = new SiteModel({ evictionRate: 0.05 });
    for (const name of ["a", "b", "x"]) site.board(name, { zone: "one" });
    site.board("c", { zone: "two" });
    for (const name of ["a", "b"]) site.report(name, { Ready: "False" });
    await site.run("1s");
    site.change("b", (node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { "topology.kubernetes.io/zone": "two" } },
    }));
    await site.run("5s");
    expect(site.times("b +not-ready:NoExecute")).toEqual([5]);
    expect([...site.memory.zones.values()].map(({ queue }) => queue.waiting.size)).toEqual([0, 0]);
  });
});

describe("boards that join and leave", () => {
  test("get an Event, and are purged once they are deleted", async () => {
    const site = new SiteModel();
    site.board("a");
    site.board("b");
    await site.run("5s");
    site.remove("b");
    await site.run("5s");
    expect(site.times("RegisteredNode b")).toEqual([0]);
    expect(site.times("RemovingNode b")).toEqual([10]);
    expect([...site.memory.boards.keys()]).toEqual(["a"]);
  });

  test("that left the selection of the site are forgotten without an Event", async () => {
    const site = new SiteModel();
    site.board("a");
    site.board("b");
    await site.run("5s");
    site.api.show(nodes, "b", false);
    await site.run("5s");
    expect(site.times(/RemovingNode/)).toEqual([]);
    expect([...site.memory.boards.keys()]).toEqual(["a"]);
  });

  test("are kept in memory while the API does not answer", async () => {
    const site = new SiteModel();
    site.board("a");
    site.board("b");
    await site.run("1s");
    site.api.show(nodes, "b", false);
    site.cut();
    await site.run("60s");
    expect([...site.memory.boards.keys()].sort()).toEqual(["a", "b"]);
  });

  test("lose the taints that they arrive with, unless their condition justifies them and at least one board is alive", async () => {
    const site = new SiteModel();
    const lostFrom = { taints: [taint("unreachable:NoExecute")], silent: true };
    site.board("first", { ...lostFrom, conditions: { Ready: "-" } });
    site.board("other");
    await site.run("5s");
    expect(site.noExecute("first")).toEqual([]);
    site.board("second", { ...lostFrom, conditions: { Ready: "-" } });
    site.board("known", { ...lostFrom, conditions: { Ready: "Unknown" } });
    await site.run("5s");
    expect(site.noExecute("second")).toEqual([]);
    expect(site.noExecute("known")).toEqual(lost);
    site.report("other", { Ready: "False" });
    await site.run("5s");
    expect(site.noExecute("known")).toEqual([]);
    site.board("third", { ...lostFrom, conditions: { Ready: "Unknown" } });
    await site.run("5s");
    expect(site.noExecute("third")).toEqual([]);
  });

  test("and are recreated under the same name start from scratch", async () => {
    const site = silentSite(["pi"]);
    site.board("other");
    await site.run("40s");
    site.board("pi", { uid: "another", silent: true });
    await site.run("40s");
    expect(site.conditions("pi")).toEqual({ Ready: "True" });
    expect(site.times("RegisteredNode pi")).toEqual([0, 45]);
  });
});

describe("monitor passes", () => {
  test("are not started early by changes of Nodes and Leases", async () => {
    const site = new SiteModel();
    site.board("pi");
    await site.run("1s");
    site.report("pi", { Ready: "False" });
    await site.run("3s");
    expect(site.noExecute("pi")).toEqual([]);
    expect(site.memory.monitorAt?.mono).toBe(1_000_000 + defaults.monitorPeriod);
  });

  test("do not send a request without a change", async () => {
    const site = new SiteModel();
    for (const name of ["a", "b"]) site.board(name);
    await site.run("1h");
    expect(site.happenings.map(({ what }) => what)).toEqual(["RegisteredNode a", "RegisteredNode b"]);
    expect(site.fetched).toEqual([]);
  });
});
