import { describe, expect, test } from "vitest";
import { toleration } from "../../support/builders.ts";
import type { Span } from "../../support/fake-clock.ts";
import { SiteModel, type TermOptions } from "./site-model.ts";

const policies = ["evidence", "kubernetes"] as const;
const harm = /deleted|\+unreachable:NoExecute|\+not-ready:NoExecute|^web.* Ready=False/;

/** Three zones, a pod on every board that tolerates a lost board for five seconds. */
function busySite(policy: (typeof policies)[number]): SiteModel {
  const site = new SiteModel({ policy });
  for (const [index, name] of ["a1", "a2", "b1", "b2", "c1"].entries()) {
    site.board(name, { zone: name.slice(0, 1), conditions: { MemoryPressure: "False" } });
    site.pod(`web-${index}`, { on: name, tolerations: [toleration("unreachable", 5), toleration("not-ready", 5)] });
  }
  return site;
}

describe.each(policies)("policy %s: a link failure", (policy) => {
  test.each(["8s", "60s", "10m", "24h"])("of %s does not harm any living board", async (cut) => {
    const site = busySite(policy);
    await site.run("2m");
    site.cut();
    await site.run(cut);
    site.restore();
    await site.run("30m");
    expect(site.times(harm)).toEqual([]);
    expect(site.times(/Ready=Unknown/)).toEqual([]);
  });

  test("that begins just before a board would count as silent does not harm any board", async () => {
    const site = busySite(policy);
    await site.run("2m");
    site.silence("a1");
    await site.run("38s");
    site.cut();
    await site.run("10m");
    expect(site.times(harm)).toEqual([]);
    site.revive("a1");
    site.restore();
    await site.run("30m");
    expect(site.times(harm)).toEqual([]);
  });

  test("a connected watch that delivers nothing does not prove silence: the Lease is read from the API itself", async () => {
    const site = busySite(policy);
    await site.run("2m");
    site.link = "half-open";
    await site.run("10m");
    expect(site.times(/Ready=Unknown/)).toEqual([]);
    expect(site.times(harm)).toEqual([]);
    expect(site.fetched).toContain("leases.coordination.k8s.io kube-node-lease/a1");
  });

  test("a board that dies behind a stalled watch is still found", async () => {
    const site = busySite(policy);
    await site.run("2m");
    site.link = "half-open";
    site.silence("a1");
    await site.run("80s");
    expect(site.conditions("a1")).toMatchObject({ Ready: "Unknown" });
    expect(site.conditions("a2")).toMatchObject({ Ready: "True" });
  });

  test("a single board that dies is proven dead by one request, not by one per pass", async () => {
    const site = new SiteModel({ policy });
    site.board("only", { silent: true });
    await site.run("30m");
    expect(site.conditions("only")).toMatchObject({ Ready: "Unknown" });
    expect(site.fetched).toEqual(["leases.coordination.k8s.io kube-node-lease/only"]);
  });

  test("a board without a Lease is read from the API itself", async () => {
    const site = new SiteModel({ policy });
    site.board("other");
    site.board("pi", { lease: false });
    await site.run("1m");
    // The second read of the Node repeats a turn that met the NoSchedule taint of the same moment.
    const ofNode = ["nodes pi", "nodes pi"];
    expect(site.fetched).toEqual(["leases.coordination.k8s.io kube-node-lease/pi", ...ofNode]);
    expect(site.conditions("pi")).toMatchObject({ Ready: "Unknown" });
  });

  test("a board that dies during the outage gets a fresh grace period, and is then evicted", async () => {
    const site = busySite(policy);
    await site.run("2m");
    site.cut();
    await site.run("5m");
    site.silence("a1");
    await site.run("5m");
    site.restore();
    await site.run("35s");
    expect(site.times(/Ready=Unknown/)).toEqual([]);
    await site.run("2m");
    expect(site.conditions("a1")).toMatchObject({ Ready: "Unknown" });
    expect(site.noExecute("a1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web-0")).toBe(false);
  });

  test("a deletion that became due during the outage is held until the quarantine has ended", async () => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b", "c"]) site.board(name);
    site.pod("web", { on: "a", tolerations: [toleration("unreachable", 120)] });
    await site.run("1m");
    site.silence("a");
    await site.run("90s");
    expect(site.noExecute("a")).toEqual(["unreachable:NoExecute"]);
    site.cut();
    await site.run("10m");
    site.restore();
    await site.run("39s");
    expect(site.exists("web")).toBe(true);
    await site.run("12s");
    expect(site.exists("web")).toBe(false);
  });

  test("a held deletion is dropped if the board returns in time", async () => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b", "c"]) site.board(name);
    site.pod("web", { on: "a", tolerations: [toleration("unreachable", 120)] });
    await site.run("1m");
    site.silence("a");
    await site.run("90s");
    site.cut();
    await site.run("10m");
    site.restore();
    await site.run("10s");
    site.revive("a");
    await site.run("10m");
    expect(site.exists("web")).toBe(true);
  });

  describe("that begins while a kubelet restarts", () => {
    /** The window of the pod ends in the outage. */
    async function restarting(window = 60): Promise<SiteModel> {
      const site = new SiteModel({ policy });
      for (const name of ["a", "b", "c"]) site.board(name);
      site.pod("web", { on: "a", tolerations: [toleration("not-ready", window), toleration("unreachable", window)] });
      await site.run("1m");
      site.report("a", { Ready: "False" });
      await site.run("10s");
      expect(site.noExecute("a")).toEqual(["not-ready:NoExecute"]);
      site.cut();
      await site.run("5m");
      expect(site.exists("web")).toBe(true);
      return site;
    }

    test.each(["100ms", "9s", "39s"] as const)(
      "harms none of its pods if it reports ready %s afterwards",
      async (span) => {
        const site = await restarting();
        site.restore();
        await site.run(span);
        expect(site.exists("web")).toBe(true);
        site.report("a", { Ready: "True" });
        await site.run("10m");
        expect([site.exists("web"), site.taints("a")]).toEqual([true, []]);
      },
    );

    test.each([
      ["100ms", "9s"],
      ["9s", "39s"],
      ["39s", "39s"],
    ] as const)(
      "harms none of its pods if it reports not ready %s afterwards, because it has just started, and ready %s later",
      async (span, later) => {
        const site = await restarting();
        site.restore();
        await site.run(span);
        site.report("a", { Ready: "False" });
        await site.run(later);
        site.report("a", { Ready: "True" });
        await site.run("10m");
        expect([site.exists("web"), site.taints("a")]).toEqual([true, []]);
      },
    );

    test("evicts them a grace period after it reports again that it is not ready, however often it does", async () => {
      const site = await restarting();
      site.restore();
      await site.run("20s");
      expect([site.exists("web"), site.heldFor]).toEqual([true, ["report"]]);
      for (let report = 1; report <= 4; report++) {
        site.report("a", { Ready: "False" });
        await site.run("9s");
        expect(site.exists("web")).toBe(true);
      }
      await site.run("15s");
      expect(site.exists("web")).toBe(false);
    });

    test("evicts them a grace period afterwards if it reports nothing new, under kubernetes after their whole time", async () => {
      const site = await restarting();
      site.restore();
      await site.run(policy === "kubernetes" ? "59s" : "39s");
      expect(site.exists("web")).toBe(true);
      await site.run("7s");
      expect(site.exists("web")).toBe(false);
    });

    test("evicts them at the very end of that time, and not a millisecond before", async () => {
      const site = await restarting();
      const waits = policy === "kubernetes" ? 60_000 : 40_000;
      const checkedAgain = (): void => site.hold((holds) => holds);
      site.restore();
      await site.run(waits - 1);
      checkedAgain();
      await site.run("0s");
      expect([site.exists("web"), site.heldFor]).toEqual([true, ["report"]]);
      await site.run(1);
      checkedAgain();
      await site.run("0s");
      expect(site.exists("web")).toBe(false);
    });

    test("harms none of its pods under the next leader, which waits for its report as well", async () => {
      const site = await restarting();
      await site.lead({ budget: site.budget, kept: site.kept, reboot: true });
      await site.run("30s");
      expect(site.exists("web")).toBe(true);
      site.report("a", { Ready: "True" });
      await site.run("10m");
      expect(site.exists("web")).toBe(true);
    });

    test.each<[string, (site: SiteModel) => TermOptions]>([
      ["the Lease", ({ budget }) => ({ budget })],
      ["the disk", ({ kept }) => ({ kept })],
    ])("under the next leader, which knows their time from %s, evicts them after a grace period", async (_, left) => {
      const site = new SiteModel({ policy });
      for (const name of ["a", "b", "c"]) site.board(name);
      site.pod("web", { on: "a", tolerations: [toleration("not-ready", 60), toleration("unreachable", 60)] });
      await site.run("1m");
      site.report("a", { Ready: "False" });
      while (site.noExecute("a").length === 0) await site.run("1s");
      await site.run("30s");
      await site.lead(left(site));
      await site.run("39s");
      expect([site.exists("web"), site.heldFor]).toEqual([true, ["report"]]);
      await site.run("7s");
      expect(site.exists("web")).toBe(false);
    });

    test("harms none of its pods if it lasts only until the kubelet has reported ready, and the report is late", async () => {
      const site = new SiteModel({ policy });
      for (const name of ["a", "b", "c"]) site.board(name);
      site.pod("web", { on: "a", tolerations: [toleration("not-ready", 60), toleration("unreachable", 60)] });
      await site.run("1m");
      site.report("a", { Ready: "False" });
      while (site.noExecute("a").length === 0) await site.run("1s");
      await site.run("56s");
      site.cut();
      site.report("a", { Ready: "True" });
      await site.run("5s");
      site.restore("behind");
      await site.run("4s");
      expect(site.exists("web")).toBe(true);
    });
  });

  describe("after which a board is ready again that cannot lose its taint", () => {
    /** The pod's time began before the outage and ends after it. Our writes to Nodes fail from then on. */
    async function readyAgain(cut: Span): Promise<SiteModel> {
      const site = new SiteModel({ policy });
      for (const name of ["a", "b", "c"]) site.board(name);
      site.pod("web", { on: "a", tolerations: [toleration("not-ready", 300), toleration("unreachable", 300)] });
      await site.run("1m");
      site.report("a", { Ready: "False" });
      await site.run("10s");
      expect(site.noExecute("a")).toEqual(["not-ready:NoExecute"]);
      site.refuse = (action) => (action.do === "patch" && action.target.resource.kind === "Node" ? "retry" : undefined);
      site.cut();
      await site.run(cut);
      site.restore();
      site.report("a", { Ready: "True" });
      return site;
    }

    test("its pods stay although their time from before the outage has ended", async () => {
      const site = await readyAgain("1m");
      await site.run("20m");
      expect([site.noExecute("a"), site.exists("web")]).toEqual([["not-ready:NoExecute"], true]);
      expect(site.heldFor).toContain("verdict");
    });

    test("a mere blip does not begin a new time, so its pods stay under evidence only", async () => {
      const site = await readyAgain("9s");
      await site.run("20m");
      expect(site.exists("web")).toBe(policy === "evidence");
    });
  });

  test("a board's own report and an operator's act are not held", async () => {
    const site = busySite(policy);
    await site.run("2m");
    site.cut();
    await site.run("60s");
    site.report("a1", { Ready: "False" });
    site.setTaints("b1", { key: "maintenance", effect: "NoExecute" });
    site.restore();
    await site.run("20s");
    expect(site.noExecute("a1")).toEqual(["not-ready:NoExecute"]);
    expect(site.exists("web-2")).toBe(false);
  });
});

describe("after an outage", () => {
  async function afterOutage(policy: (typeof policies)[number]): Promise<SiteModel> {
    const site = new SiteModel({ policy });
    for (let index = 0; index < 12; index++) site.board(`pi-${String(index).padStart(2, "0")}`);
    await site.run("2m");
    site.cut();
    site.silence("pi-00", "pi-01", "pi-02");
    await site.run("60s");
    site.restore();
    return site;
  }

  test("policy evidence evicts slowly at first, then at the usual rate", async () => {
    const site = await afterOutage("evidence");
    await site.run("5m");
    expect(site.times(/\+unreachable:NoExecute/).length).toBeLessThanOrEqual(3);
    const times = site.times(/\+unreachable:NoExecute/);
    for (const [index, time] of times.entries()) {
      if (index > 0) expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(100);
    }
    expect([...site.memory.zones.values()][0]?.queue.rate).toBe(0.01);
    await site.run("10m");
    expect([...site.memory.zones.values()][0]?.queue.rate).toBe(0.1);
  });

  test("policy kubernetes continues at its own rate", async () => {
    const site = await afterOutage("kubernetes");
    await site.run("2m");
    const times = site.times(/\+unreachable:NoExecute/);
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 10, 20]);
  });

  test("once every board has reported, nothing is held any longer", async () => {
    const site = busySite("evidence");
    await site.run("2m");
    site.cut();
    await site.run("60s");
    site.restore();
    await site.run("16s");
    expect(site.memory.quarantine.releasedAt).toBeDefined();
  });
});

describe("a kubelet's report, while the watches catch up after a moment's break", () => {
  /** Whatever the kubelet reports has not arrived when the pod's time of a minute ends. */
  async function lateReport(ready: string): Promise<SiteModel> {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["a", "b", "c"]) site.board(name);
    site.pod("web", { on: "a", tolerations: [toleration("not-ready", 60), toleration("unreachable", 60)] });
    await site.run("1m");
    site.report("a", { Ready: "False" });
    while (site.noExecute("a").length === 0) await site.run("1s");
    await site.run("55s");
    site.fetched.length = 0;
    site.breakWatches();
    site.report("a", { Ready: ready });
    await site.run("3s");
    site.restore("behind");
    await site.run("4s");
    return site;
  }

  test("does not evict if the Node, once read, shows that the board is ready", async () => {
    const site = await lateReport("True");
    expect([site.exists("web"), site.fetched]).toEqual([true, expect.arrayContaining(["nodes a"])]);
  });

  test("evicts if the Node, once read, still shows that the board is not ready", async () => {
    const site = await lateReport("False");
    expect([site.exists("web"), site.fetched]).toEqual([false, expect.arrayContaining(["nodes a"])]);
  });
});

describe("where no leader judges the boards", () => {
  const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: "T1" };

  function unjudged(): SiteModel {
    const site = new SiteModel({ policy: "evidence" });
    site.board("a", { conditions: { Ready: "False" }, taints: [notReady] });
    site.pod("web", { on: "a", tolerations: [toleration("not-ready", 60)] });
    return site;
  }

  test("the next leader does not wait for a report of the kubelet that no leader would notice", async () => {
    const site = unjudged();
    await site.lead({ judges: false });
    await site.run("30s");
    await site.lead({ judges: false, kept: site.kept });
    await site.run("29s");
    expect(site.exists("web")).toBe(true);
    await site.run("2s");
    expect(site.exists("web")).toBe(false);
  });

  test("an outage postpones the eviction by a grace period at most", async () => {
    const site = unjudged();
    await site.lead({ judges: false });
    await site.run("30s");
    site.cut();
    await site.run("5m");
    site.restore();
    await site.run("39s");
    expect([site.exists("web"), site.heldFor]).toEqual([true, ["report"]]);
    await site.run("7s");
    expect(site.exists("web")).toBe(false);
  });
});

describe("a board that renews its Lease again but has not reported its status yet", () => {
  test.each([
    ["evidence", true],
    ["kubernetes", false],
  ] as const)("keeps its pods under policy %s: %s", async (policy, kept) => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b", "c", "pi"]) site.board(name);
    site.pod("web", { on: "pi", tolerations: [toleration("unreachable", 60)] });
    await site.run("30s");
    site.silence("pi");
    while (site.noExecute("pi").length === 0) await site.run("1s");
    await site.run("57s");
    site.renew("pi");
    await site.run("10s");
    expect(site.exists("web")).toBe(kept);
    await site.run("5m");
    expect(site.exists("web")).toBe(false);
  });

  test("is not evicted by a new leader under policy evidence before it has been silent for a whole grace period", async () => {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["a", "b", "c", "pi"]) site.board(name);
    site.pod("web", { on: "pi", tolerations: [toleration("unreachable", 60)] });
    await site.run("30s");
    site.silence("pi");
    while (site.noExecute("pi").length === 0) await site.run("1s");
    await site.run("57s");
    await site.lead({ budget: site.budget, kept: site.kept });
    await site.run("40s");
    expect(site.exists("web")).toBe(true);
    await site.run("10s");
    expect(site.exists("web")).toBe(false);
  });

  test.each([
    ["evidence", 0],
    ["kubernetes", 1],
  ] as const)("is tainted under policy %s %i times", async (policy, count) => {
    const site = new SiteModel({ policy });
    for (const name of ["a", "b", "c", "d", "e"]) site.board(name);
    await site.run("30s");
    site.silence("a", "b");
    await site.run("39s");
    const before = site.times(/\+unreachable:NoExecute/).length;
    expect(before).toBeLessThanOrEqual(1);
    await site.run("6s");
    const [waiting = ""] = ["a", "b"].filter((name) => site.noExecute(name).length === 0);
    site.renew(waiting);
    await site.run("30s");
    expect(site.times(`${waiting} +unreachable:NoExecute`)).toHaveLength(count);
  });
});
