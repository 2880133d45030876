import { describe, expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
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

describe("silence (NH)", () => {
  test("NH-01: a board that never reported gets the startup grace period, not a second less", async () => {
    const site = new SiteModel({ monitorPeriod: 1000 });
    site.board("pi", { lease: false, conditions: { Ready: "-" }, created: "2026-01-01T00:00:00Z" });
    await site.run("60s");
    expect(site.conditions("pi")).toEqual({});
    await site.run("1s");
    const names = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
    expect(site.node("pi").status?.conditions).toEqual(
      names.map((type) => ({
        type,
        status: "Unknown",
        reason: "NodeStatusNeverUpdated",
        message: "Kubelet never posted node status.",
        lastHeartbeatTime: "2026-01-01T00:00:00Z",
        lastTransitionTime: "2026-01-01T00:01:01Z",
      })),
    );
  });

  test("a board created long ago that never reported is Unknown at once, as the API server's clock says", async () => {
    const site = new SiteModel();
    site.board("pi", { lease: false, conditions: { Ready: "-" }, created: "2025-01-01T00:00:00Z" });
    await site.run("0s");
    expect(site.conditions("pi")).toMatchObject({ Ready: "Unknown" });
  });

  test("the evidence does not read that clock: the board gets its grace period from now on", async () => {
    const site = new SiteModel({ policy: "evidence" });
    site.board("pi", { lease: false, conditions: { Ready: "-" }, created: "2025-01-01T00:00:00Z" });
    await site.run("60s");
    expect(site.conditions("pi")).toEqual({});
    await site.run("10s");
    expect(site.conditions("pi")).toMatchObject({ Ready: "Unknown" });
  });

  test("NH-03: a Lease alone keeps a board that never reported", async () => {
    const site = new SiteModel();
    site.board("pi", { conditions: { Ready: "-" }, created: "2025-01-01T00:00:00Z" });
    await site.run("1h");
    expect(site.conditions("pi")).toEqual({});
  });

  test("NH-05: renewals keep a board whose status stands still", async () => {
    const site = new SiteModel();
    site.board("pi", { conditions: { DiskPressure: "False" } });
    await site.run("1h");
    expect(site.conditions("pi")).toEqual({ Ready: "True", DiskPressure: "False" });
  });

  test("NH-07: a silent board is Unknown, its pods leave service, and everybody is told", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { silent: true, created: "2025-06-01T00:00:00Z" });
    site.pod("web", { on: "pi", tolerations: [{ operator: "Exists" }] });
    site.pod("job", { on: "pi", tolerations: [{ operator: "Exists" }], conditions: [] });
    await site.run("40s");
    expect(site.conditions("pi")).toEqual({ Ready: "True" });
    await site.run("5s");
    const { conditions = [] } = site.node("pi").status ?? {};
    expect(conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ["Ready", "Unknown", "NodeStatusUnknown"],
      ["MemoryPressure", "Unknown", "NodeStatusNeverUpdated"],
      ["DiskPressure", "Unknown", "NodeStatusNeverUpdated"],
      ["PIDPressure", "Unknown", "NodeStatusNeverUpdated"],
    ]);
    expect(conditions[0]).toMatchObject({
      message: "Kubelet stopped posting node status.",
      lastHeartbeatTime: "2026-01-01T00:00:00Z",
      lastTransitionTime: "2026-01-01T00:00:45Z",
    });
    expect(site.podReady("web")).toBe("False");
    expect(site.podReady("job")).toBeUndefined();
    expect(site.times("NodeNotReady pi")).toEqual([45]);
    expect(site.times("NodeNotReady web")).toEqual([45]);
    await site.run("10m");
    expect(site.times(/NodeNotReady/)).toHaveLength(2);
  });

  test("a network that is unavailable is not the kubelet's to say, so it stays as it is", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { silent: true, conditions: { NetworkUnavailable: "False", MemoryPressure: "Unknown" } });
    await site.run("45s");
    expect(site.conditions("pi")).toMatchObject({ NetworkUnavailable: "False", MemoryPressure: "Unknown" });
    const memory = site.node("pi").status?.conditions?.find(({ type }) => type === "MemoryPressure");
    expect(memory?.reason).toBeUndefined();
  });

  test("NH-09: a heartbeat that goes back in time is a heartbeat", async () => {
    const site = new SiteModel();
    site.board("pi", { lease: false, heartbeat: "2026-01-01T01:40:00Z" });
    await site.run("34s");
    site.change("pi", (node) => ({
      ...node,
      status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:50:00Z" }] },
    }));
    await site.run("41s");
    expect(site.conditions("pi")).toEqual({ Ready: "True" });
    await site.run("5s");
    expect(site.conditions("pi")).toMatchObject({ Ready: "Unknown" });
  });

  test.each(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday", ""])(
    "a heartbeat of %j is only a value",
    async (heartbeat) => {
      const site = new SiteModel();
      site.board("pi", { heartbeat, created: heartbeat });
      site.board("lost", { heartbeat, created: heartbeat, silent: true });
      await site.run("45s");
      expect([site.conditions("pi").Ready, site.conditions("lost").Ready]).toEqual(["True", "Unknown"]);
    },
  );

  test("a Ready condition that somebody takes away is no sign of life, and one that comes is", async () => {
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

  test("NH-11: a board whose conditions cannot be written does not count in its zone; the others do", async () => {
    const site = silentSite(["a", "b"]);
    site.board("c", { zone: "zone-0" });
    site.api.refuse = (action) => (action.do === "patch" && action.target.name === "a" ? "refresh" : undefined);
    await site.run("46s");
    expect(site.conditions("a")).toEqual({ Ready: "True" });
    expect(site.conditions("b")).toMatchObject({ Ready: "Unknown" });
    expect(site.noExecute("b")).toEqual(lost);
    site.api.refuse = () => undefined;
    await site.run("4s");
    expect(site.conditions("a")).toMatchObject({ Ready: "Unknown" });
    expect(site.times("NodeNotReady a")).toEqual([50]);
  });

  test("a board that speaks between two tries to write its conditions stays what it is", async () => {
    const site = silentSite(["a", "b"]);
    let tries = 0;
    site.api.refuse = (action) => {
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

  test("a zone that only seems empty because nothing could be written keeps its allowance", async () => {
    const site = silentSite(["a", "b"], ["c", "d"]);
    site.board("e", { zone: "zone-1" });
    await site.run("46s");
    site.api.refuse = ({ do: what }) => (what === "patch" ? "retry" : undefined);
    site.report("a", { Ready: "True" });
    site.report("b", { Ready: "True" });
    await site.run("60s");
    expect(site.memory.zones.size).toBe(2);
  });

  test("NH-13: a new leader gives a dead board a whole grace period", async () => {
    const site = silentSite(["dead"], ["alive"]);
    await site.run("40s");
    expect(site.conditions("dead")).toEqual({ Ready: "True" });
    await site.run("5s");
    expect(site.conditions("dead")).toMatchObject({ Ready: "Unknown" });
  });

  test("a board that comes back is ready and untainted with the next pass", async () => {
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

describe("which taint, and when (TN)", () => {
  test("TN-01: by silence, by the board's own word, and not at all", async () => {
    const site = new SiteModel({ evictionRate: 100 });
    site.board("n0", { conditions: { Ready: "Unknown" } });
    site.board("n1");
    site.board("n2", { conditions: { Ready: "False" } });
    await site.run("1s");
    expect([site.noExecute("n0"), site.noExecute("n1"), site.noExecute("n2")]).toEqual([
      lost,
      [],
      ["not-ready:NoExecute"],
    ]);
  });

  test("TN-03: one taint gives way to the other at once, and no moment sees both or none", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { silent: true });
    await site.run("50s");
    expect(site.noExecute("pi")).toEqual(lost);
    site.renew("pi");
    site.report("pi", { Ready: "False" });
    await site.run("5s");
    expect(site.noExecute("pi")).toEqual(["not-ready:NoExecute"]);
    expect(site.times("pi +not-ready:NoExecute")).toEqual(site.times("pi -unreachable:NoExecute"));
    await site.run("60s");
    expect(site.noExecute("pi")).toEqual(lost);
  });

  test("TN-05: three of ten boards are tainted ten seconds apart", async () => {
    const site = new SiteModel();
    for (let index = 0; index < 10; index++) {
      site.board(`n${index}`, index < 3 ? { conditions: { Ready: "Unknown" } } : {});
    }
    await site.run("60s");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([0, 10, 20]);
    expect(site.times("n0 +unreachable:NoExecute")).toEqual([0]);
  });

  test("TN-07: a turn that fails costs its token", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    let failures = 0;
    site.api.refuse = (action) =>
      action.do === "patch" && "spec" in action.patch && action.cause && failures++ === 0 ? "retry" : undefined;
    await site.run("60s");
    expect(site.times("pi +unreachable:NoExecute")).toEqual([10]);
  });

  test("a turn that met a newer version goes again as soon as the cache has it, for the same token", async () => {
    const site = new SiteModel({ evictionRate: 0.01 });
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    let conflicts = 0;
    site.api.refuse = (action) => {
      if (action.do !== "patch" || !action.cause || conflicts++ > 0) return undefined;
      site.change("pi", (node) => ({ ...node, metadata: { ...node.metadata, labels: { touched: "yes" } } }));
      return "refresh";
    };
    await site.run("2s");
    expect(site.times("pi +unreachable:NoExecute")).toEqual([0.1]);
    expect(site.node("pi").metadata.labels).toMatchObject({ touched: "yes" });
  });

  test("a version that never comes costs the token after three monitor periods", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" }, taints: [taint("unreachable:NoSchedule")] });
    let conflicts = 0;
    site.api.refuse = (action) => (action.do === "patch" && action.cause && conflicts++ < 1 ? "refresh" : undefined);
    await site.run("60s");
    expect(site.times("pi +unreachable:NoExecute")).toEqual([15]);
  });

  test("a board that is ready again before its turn loses its place", async () => {
    const site = new SiteModel();
    for (const name of ["a", "b", "c", "d", "e"]) site.board(name);
    site.report("a", { Ready: "False" });
    site.report("b", { Ready: "False" });
    await site.run("6s");
    site.report("b", { Ready: "True" });
    await site.run("60s");
    expect(site.times(/\+not-ready:NoExecute/)).toEqual([0]);
    expect(site.times(/^b \+not-ready:NoExecute/)).toEqual([]);
  });

  test.each([
    { policy: "kubernetes", turns: [0, 20] },
    { policy: "evidence", turns: [10, 20] },
  ] as const)("TN-09: policy $policy, and a board that is deleted while it waits", async ({ policy, turns }) => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b", "c", "d", "e", "f"]) site.board(name);
    for (const name of ["a", "b", "c"]) site.report(name, { Ready: "False" });
    await site.run("3s");
    site.remove("c");
    await site.run("60s");
    expect(site.times(/\+not-ready:NoExecute/)).toEqual(turns);
    expect(site.memory.zones.get("")?.queue.waiting.size).toBe(0);
  });

  test("a taint that a person takes away comes back at the limited rate", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "False" } });
    await site.run("1s");
    expect(site.noExecute("pi")).toEqual(["not-ready:NoExecute"]);
    site.setTaints("pi");
    await site.run("8s");
    expect(site.noExecute("pi")).toEqual([]);
    await site.run("2s");
    expect(site.noExecute("pi")).toEqual(["not-ready:NoExecute"]);
  });

  test("a kubelet that reports itself not ready marks its own pods; we do not", async () => {
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

  test("pods that could not be marked are marked in the next pass", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { silent: true });
    site.pod("web", { on: "pi", tolerations: [{ operator: "Exists" }] });
    site.api.refuse = (action) => (action.do === "patch" && action.target.name === "web" ? "retry" : undefined);
    await site.run("47s");
    expect(site.memory.unmarked).toEqual(new Set(["pi"]));
    site.api.refuse = () => undefined;
    await site.run("3s");
    expect(site.podReady("web")).toBe("False");
    expect(site.memory.unmarked).toEqual(new Set());
    expect(site.times("NodeNotReady web")).toEqual([50]);
  });

  test("pods that a term left unmarked are marked by the next one, once the board is proven silent", async () => {
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

  test("statuses that are none are neither ready nor a reason to do anything", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Perhaps" }, taints: [taint("dedicated:NoExecute")] });
    await site.run("60s");
    expect(site.taints("pi")).toEqual(["dedicated:NoExecute"]);
  });

  test("a Node without spec, status and labels harms nobody, and nobody it", async () => {
    const site = new SiteModel();
    site.board("other");
    site.api.put("Node", { metadata: { name: "bare", uid: "uid-bare", resourceVersion: "1" } });
    await site.run("10s");
    expect(site.taints("bare")).toEqual([]);
    expect(site.times("RegisteredNode other")).toEqual([0]);
  });
});

describe("zones under disruption (HD)", () => {
  const unknown = { conditions: { Ready: "Unknown" } } as const;

  test("HD-01: where nobody is ready from the start, all taints go, and then nothing happens", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, taints: [taint("unreachable:NoExecute"), taint("dedicated:NoExecute")] });
    site.board("b", { ...unknown, taints: [taint("unreachable:NoExecute")] });
    await site.run("0s");
    expect([site.noExecute("a"), site.noExecute("b")]).toEqual([["dedicated:NoExecute"], []]);
    expect(site.memory.zones.get("")).toMatchObject({ state: "full", rate: 0 });
    await site.run("10m");
    expect(site.times(/NoExecute/)).toEqual([0, 0]);
  });

  test("a taint that could not be removed when the site went dark goes as soon as it can", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, taints: [taint("unreachable:NoExecute")] });
    site.board("b", unknown);
    site.api.refuse = ({ do: what }) => (what === "patch" ? "retry" : undefined);
    await site.run("12s");
    expect(site.noExecute("a")).toEqual(lost);
    site.api.refuse = () => undefined;
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
    "a board of a new zone joins a dark site under policy %s: the others go on at %f",
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

  test("HD-03: a zone that is dead beside a living one is evicted at the full rate", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, zone: "a" });
    site.board("b", { zone: "b" });
    await site.run("1s");
    expect(site.noExecute("a")).toEqual(lost);
    expect([...site.memory.zones.values()].map(({ state, rate }) => [state, rate])).toEqual([
      ["full", 0.1],
      ["normal", 0.1],
    ]);
  });

  test("HD-05: after full disruption everybody gets a fresh grace period, and the first turn waits for its token", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, zone: "a" });
    site.board("b", { ...unknown, zone: "b", silent: true });
    await site.run("58s");
    site.revive("b");
    await site.run("2s");
    expect([...site.memory.zones.values()].map(({ state }) => state)).toEqual(["full", "normal"]);
    for (const { health } of site.memory.boards.values()) {
      expect([health.probe.mono, health.transition.mono]).toEqual([1_060_000, 1_060_000]);
    }
    await site.run("60s");
    expect(site.times("a +unreachable:NoExecute")).toEqual([70]);
  });

  test.each([
    [50, 0],
    [51, 0.01],
  ])("HD-07: of %i boards most are lost: the rate is %f", async (size, rate) => {
    const site = new SiteModel();
    for (let index = 0; index < size; index++) {
      site.board(`n${String(index).padStart(2, "0")}`, index < 29 ? { ...unknown, zone: "a" } : { zone: "a" });
    }
    await site.run("0s");
    expect([...site.memory.zones.values()]).toMatchObject([{ state: "partial", rate }]);
  });

  test("HD-09: a board that returns is untainted and leaves the queue", async () => {
    const site = new SiteModel();
    for (const name of ["a", "b"]) site.board(name);
    site.board("c", { ...unknown, silent: true });
    await site.run("1s");
    expect(site.noExecute("c")).toEqual(lost);
    site.revive("c");
    await site.run("5s");
    expect(site.noExecute("c")).toEqual([]);
    expect(site.memory.zones.get("")?.queue.seen).toEqual(new Set());
  });

  test("HD-11: at a rate of exactly 1 evictions resume as well", async () => {
    const site = new SiteModel({ evictionRate: 1 });
    site.board("a", { ...unknown, zone: "a" });
    site.board("b", { ...unknown, zone: "b", silent: true });
    await site.run("9s");
    expect([...site.memory.zones.values()].map(({ rate }) => rate)).toEqual([0, 0]);
    site.revive("b");
    await site.run("5s");
    expect(site.times("a +unreachable:NoExecute")).toEqual([11]);
  });

  test("HD-13: two zones, two allowances", async () => {
    const site = new SiteModel();
    for (const name of ["a1", "a2"]) site.board(name, { zone: "a" });
    site.board("a3", { ...unknown, zone: "a" });
    site.board("b", { ...unknown, zone: "b" });
    await site.run("1s");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([0, 0]);
  });

  test("a board tainted in the pass before full disruption loses its taint, and none is added in that pass", async () => {
    const site = silentSite(["a"], ["b"]);
    await site.run("45s");
    expect(site.conditions("a")).toMatchObject({ Ready: "Unknown" });
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([]);
    await site.run("10m");
    expect([site.noExecute("a"), site.noExecute("b")]).toEqual([[], []]);
  });

  test("a small zone of which most is lost stops, and goes on when it is better", async () => {
    const site = silentSite(["a", "b", "c"]);
    for (const name of ["d", "e"]) site.board(name, { zone: "zone-0" });
    await site.run("5m");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([]);
    site.revive("a");
    await site.run("1m");
    expect(site.times(/\+unreachable:NoExecute/)).toEqual([315, 325]);
  });

  test("an excluded board does not make its zone look dead", async () => {
    const site = new SiteModel();
    site.board("a", { ...unknown, labels: { "node.kubernetes.io/exclude-disruption": "" } });
    site.board("b");
    await site.run("0s");
    expect(site.memory.zones.get("")?.state).toBe("normal");
    expect(site.noExecute("a")).toEqual(lost);
  });

  test("a board that moves to another zone waits there", async () => {
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

describe("boards that come and go", () => {
  test("are announced, and purged when they were deleted", async () => {
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

  test("a board that left the selection of the site is forgotten without a word", async () => {
    const site = new SiteModel();
    site.board("a");
    site.board("b");
    await site.run("5s");
    site.api.release("Node", "b");
    await site.run("5s");
    expect(site.times(/RemovingNode/)).toEqual([]);
    expect([...site.memory.boards.keys()]).toEqual(["a"]);
  });

  test("while the API does not say what became of it, it stays known", async () => {
    const site = new SiteModel();
    site.board("a");
    site.board("b");
    await site.run("1s");
    site.api.release("Node", "b");
    site.api.cut();
    await site.run("60s");
    expect([...site.memory.boards.keys()].sort()).toEqual(["a", "b"]);
  });

  test("lose the taints that they bring along, unless they deserve them where somebody is alive", async () => {
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

  test("a Node made anew under its name begins anew", async () => {
    const site = silentSite(["pi"]);
    site.board("other");
    await site.run("40s");
    site.board("pi", { uid: "another", silent: true });
    await site.run("40s");
    expect(site.conditions("pi")).toEqual({ Ready: "True" });
    expect(site.times("RegisteredNode pi")).toEqual([0, 45]);
  });
});

describe("the rhythm", () => {
  test("changes of Nodes and Leases force no pass before its time", async () => {
    const site = new SiteModel();
    site.board("pi");
    await site.run("1s");
    site.report("pi", { Ready: "False" });
    await site.run("3s");
    expect(site.noExecute("pi")).toEqual([]);
    expect(site.memory.monitorAt?.mono).toBe(1_000_000 + defaults.monitorPeriod);
  });

  test("a pass that changes nothing asks for nothing", async () => {
    const site = new SiteModel();
    for (const name of ["a", "b"]) site.board(name);
    await site.run("1h");
    expect(site.happenings.map(({ what }) => what)).toEqual(["RegisteredNode a", "RegisteredNode b"]);
    expect(site.api.fetched).toEqual([]);
  });
});
