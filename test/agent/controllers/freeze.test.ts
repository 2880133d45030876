import { describe, expect, test } from "vitest";
import { leases, nodes, pods } from "../../../agent/api/resources.ts";
import { shifted } from "../../../agent/base/clock.ts";
import { lastSignOf } from "../../../agent/controllers/node-lifecycle/health.ts";
import {
  confirmerOf,
  outOfServiceAnnotation,
  takeOutOfService,
} from "../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import { zoneName, zoneOf } from "../../../agent/controllers/node-lifecycle/zones/zones.ts";
import {
  decodeHolds,
  encodeHolds,
  freezeKey,
  type HoldScope,
  type Holds,
  noHolds,
} from "../../../agent/holds/holds.ts";
import { lease, toleration } from "../../support/builders.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { SiteModel } from "./site-model.ts";

const window: Span = "10m";
const five = [toleration("unreachable", 5), toleration("not-ready", 5)];
const hour = [toleration("unreachable", 3600), toleration("not-ready", 3600)];

const freeze = (site: SiteModel, scope: HoldScope, length: Span) =>
  site.hold((holds) => {
    const end = shifted(site.now, millis(length));
    const slowEnd = shifted(end, millis(window));
    const entry = { ...scope, end, slowEnd, by: "ops:alice", reason: undefined, foreign: {} };
    return { ...holds, freezes: new Map([...holds.freezes, [freezeKey(scope), entry]]) };
  });

const thaw = (site: SiteModel, scope: HoldScope) =>
  site.hold((holds) => {
    const before = holds.freezes.get(freezeKey(scope));
    if (!before) throw new Error("not frozen");
    const thawed = { ...before, end: site.now, slowEnd: shifted(site.now, millis(window)) };
    return { ...holds, freezes: new Map([...holds.freezes, [freezeKey(scope), thawed]]) };
  });

const lastSign = (site: SiteModel, name: string): string => {
  const leased = site.view.lister(leases).get(`kube-node-lease/${name}`);
  return lastSignOf(site.node(name), leased?.metadata.resourceVersion);
};

const confirm = (site: SiteModel, zone: string, length: Span) =>
  site.hold((holds): Holds => {
    const lastSigns = new Set<string>();
    for (const node of site.view.lister(nodes).list())
      if (zoneName(zoneOf(node)) === zone) lastSigns.add(lastSign(site, node.metadata.name));
    const end = shifted(site.now, millis(length));
    return {
      ...holds,
      confirmed: new Map([[zone, { end, by: "ops:bob", reason: undefined, foreign: {}, lastSigns }]]),
    };
  });

/** The next leader reads the holds from the Lease. */
async function nextLeader(site: SiteModel): Promise<void> {
  await site.lead();
  site.hold((holds) => decodeHolds(encodeHolds(holds, site.now), site.now) ?? noHolds);
}

/** Ten boards in zone a, two in zone b; a pod on each that tolerates a lost board for five seconds. */
function bigSite(policy: "evidence" | "kubernetes" = "evidence"): SiteModel {
  const site = new SiteModel({ policy });
  for (const zone of ["a", "b"]) {
    for (let index = 0; index < (zone === "a" ? 10 : 2); index++) {
      const name = `${zone}${index}`;
      site.board(name, { zone });
      site.pod(`web-${name}`, { on: name, tolerations: five });
    }
  }
  return site;
}

const taken = /\+unreachable:NoExecute|\+not-ready:NoExecute|deleted/;

describe.each(["evidence", "kubernetes"] as const)("policy %s: a frozen site", (policy) => {
  test("keeps the pods of a silent board, still marks the board, and resumes when it is thawed", async () => {
    const site = bigSite(policy);
    await site.run("2m");
    freeze(site, { scope: "site" }, "1h");
    site.silence("a1");
    await site.run("30m");
    expect(site.conditions("a1")).toMatchObject({ Ready: "Unknown" });
    expect(site.taints("a1")).toEqual(["unreachable:NoSchedule"]);
    expect(site.times(taken)).toEqual([]);
    thaw(site, { scope: "site" });
    await site.run("1m");
    expect(site.noExecute("a1")).toEqual(["unreachable:NoExecute"]);
    expect(site.exists("web-a1")).toBe(false);
  });

  test("resumes by itself when its time has passed, and not a second earlier", async () => {
    const site = bigSite(policy);
    await site.run("2m");
    freeze(site, { scope: "site" }, "10m");
    site.silence("a1");
    await site.run("599s");
    expect(site.times(taken)).toEqual([]);
    await site.run("7s");
    expect(site.times(taken).length).toBeGreaterThan(0);
  });

  test("keeps its queue, and evicts at the secondary rate for one window after the thaw", async () => {
    const site = bigSite(policy);
    await site.run("2m");
    freeze(site, { scope: "site" }, "1h");
    site.silence("a1", "a2", "a3");
    await site.run("20m");
    const thawed = site.seconds;
    thaw(site, { scope: "site" });
    await site.run("8m");
    // One at once, the others 100 s apart: 0.01 boards per second.
    const times = site.times(/\+unreachable:NoExecute/).map((at) => at - thawed);
    expect(times).toHaveLength(3);
    expect(times[0]).toBeLessThan(6);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(99);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(99);
  });

  test("keeps the pods whose windows end during the freeze, and evicts them board by board afterwards", async () => {
    const site = new SiteModel({ policy, evictionRate: 10 });
    for (let index = 0; index < 10; index++) {
      site.board(`a${index}`, { zone: "a" });
      site.pod(`web-a${index}`, { on: `a${index}`, tolerations: [toleration("unreachable", 300)] });
    }
    await site.run("2m");
    site.silence("a1", "a2", "a3", "a4");
    await site.run("1m");
    expect(site.times(/\+unreachable:NoExecute/)).toHaveLength(4);
    freeze(site, { scope: "site" }, "1h");
    await site.run("30m");
    expect(site.times(/deleted/)).toEqual([]);
    const thawed = site.seconds;
    thaw(site, { scope: "site" });
    await site.run("20m");
    expect(site.times(/deleted web-/).map((at) => Math.round(at - thawed))).toEqual([0, 100, 200, 300]);
  });

  test("does not hold evictions because of a taint of another client", async () => {
    const site = bigSite(policy);
    await site.run("2m");
    freeze(site, { scope: "site" }, "1h");
    site.setTaints("a1", { key: "example.com/maintenance", effect: "NoExecute" });
    await site.run("10s");
    expect(site.exists("web-a1")).toBe(false);
  });

  test("removes the taint of a board that returns", async () => {
    const site = bigSite(policy);
    await site.run("2m");
    site.silence("a1");
    await site.run("2m");
    expect(site.noExecute("a1")).toEqual(["unreachable:NoExecute"]);
    freeze(site, { scope: "site" }, "1h");
    site.revive("a1");
    await site.run("30s");
    expect(site.noExecute("a1")).toEqual([]);
  });
});

test("a frozen zone is not evicted, and other zones are not affected", async () => {
  const site = bigSite();
  await site.run("2m");
  freeze(site, { scope: "zone", target: "a" }, "1h");
  site.silence("a1", "b1");
  await site.run("30m");
  expect(site.noExecute("a1")).toEqual([]);
  expect(site.exists("web-a1")).toBe(true);
  expect(site.noExecute("b1")).toEqual(["unreachable:NoExecute"]);
  expect(site.exists("web-b1")).toBe(false);
});

test("a frozen board waits, but its neighbours in the queue do not", async () => {
  const site = bigSite();
  await site.run("2m");
  freeze(site, { scope: "board", target: "a1" }, "1h");
  site.silence("a1", "a2");
  await site.run("10m");
  expect(site.noExecute("a1")).toEqual([]);
  expect(site.noExecute("a2")).toEqual(["unreachable:NoExecute"]);
});

test("a board that reports itself not ready in a frozen site is not tainted NoExecute", async () => {
  const site = bigSite();
  await site.run("2m");
  freeze(site, { scope: "site" }, "1h");
  site.report("a1", { Ready: "False" });
  await site.run("10m");
  expect(site.taints("a1")).toEqual(["not-ready:NoSchedule"]);
});

describe("a zone that an operator confirmed to be dead", () => {
  test("counts its silent boards as dead for the confirmed time", async () => {
    const site = bigSite();
    await site.run("2m");
    site.silence("b0", "b1", "a1");
    confirm(site, "b", "10m");
    await site.run("1m");
    const record = (name: string) => site.memory.boards.get(name)?.verdict;
    expect(record("b0")).toEqual({
      verdict: "dead",
      rule: "silent past its grace period, and ops:bob confirmed that it is dead",
    });
    expect(record("a1")?.verdict).toBe("unproven");
    await site.run("10m");
    expect(record("b0")?.verdict).toBe("unproven");
  });

  test("continues to be evicted, slowly, even if all boards of the site are silent", async () => {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["a1", "a2", "a3"]) {
      site.board(name, { zone: "a" });
      site.pod(`web-${name}`, { on: name, tolerations: five });
    }
    await site.run("2m");
    site.silence("a1", "a2", "a3");
    await site.run("10m");
    expect(site.times(taken)).toEqual([]);
    const confirmed = site.seconds;
    confirm(site, "a", "1h");
    await site.run("10m");
    const times = site.times(/\+unreachable:NoExecute/).map((at) => at - confirmed);
    expect(times).toHaveLength(3);
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(198);
  });

  /** Zone b was confirmed dead for a day; its boards have been back for ten minutes. */
  async function returned(...back: readonly string[]): Promise<SiteModel> {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of ["a0", "a1", "b0", "b1", "b2"]) {
      site.board(name, { zone: name.slice(0, 1) });
      site.pod(`web-${name}`, { on: name, tolerations: five });
    }
    await site.run("2m");
    site.silence("b0", "b1", "b2");
    await site.run("2m");
    confirm(site, "b", "24h");
    site.revive(...back);
    await site.run("10m");
    return site;
  }

  test("is not dead once its boards have returned, regardless of how the next silence begins", async () => {
    const site = await returned("b0", "b1", "b2");
    const before = site.times(taken).length;
    site.silence("a0", "a1", "b0", "b1", "b2");
    await site.run("1h");
    expect(site.times(taken)).toHaveLength(before);
    expect(site.memory.boards.get("b0")?.verdict.verdict).toBe("unproven");
    await nextLeader(site);
    await site.run("1h");
    expect(site.times(taken)).toHaveLength(before);
    // A new confirmation speaks of them again.
    confirm(site, "b", "1h");
    await site.run("20m");
    for (const name of ["b0", "b1", "b2"]) expect(site.noExecute(name)).toEqual(["unreachable:NoExecute"]);
    for (const name of ["a0", "a1"]) expect(site.noExecute(name)).toEqual([]);
  });

  test("keeps the confirmation for the boards that remain silent, under every leader", async () => {
    const site = await returned("b0");
    const verdict = (name: string) => site.memory.boards.get(name)?.verdict.verdict;
    expect(["b0", "b1", "b2"].map(verdict)).toEqual(["alive", "dead", "dead"]);
    await nextLeader(site);
    await site.run("3m");
    expect(["b0", "b1", "b2"].map(verdict)).toEqual(["alive", "dead", "dead"]);
    site.silence("a0", "a1", "b0");
    await site.run("1h");
    // The board that came back falls silent with the whole site: the old confirmation does not speak of it.
    expect(["b0", "b1", "b2"].map(verdict)).toEqual(["unproven", "dead", "dead"]);
    expect(site.noExecute("b0")).toEqual([]);
  });

  test("loses the confirmation for a board that returned while no board led", async () => {
    const site = await returned();
    site.cut();
    site.renew("b1");
    await site.run("5m");
    site.restore();
    await nextLeader(site);
    await site.run("5m");
    const verdict = (name: string) => site.memory.boards.get(name)?.verdict.verdict;
    expect(["b0", "b1", "b2"].map(verdict)).toEqual(["dead", "unproven", "dead"]);
  });

  test("includes a board that never reported, which is marked as silent only afterwards", async () => {
    const site = new SiteModel({ policy: "evidence" });
    site.board("a0", { zone: "a" });
    site.board("b0", { zone: "b", lease: false, conditions: { Ready: "-" }, silent: true });
    await site.run("10s");
    confirm(site, "b", "1h");
    await site.run("10m");
    expect(site.memory.boards.get("b0")?.verdict.verdict).toBe("dead");
  });

  test("remains frozen if a freeze is also in force", async () => {
    const site = bigSite();
    await site.run("2m");
    site.silence("b0", "b1");
    confirm(site, "b", "1h");
    freeze(site, { scope: "zone", target: "b" }, "1h");
    await site.run("20m");
    expect(site.times(taken)).toEqual([]);
  });
});

describe("a board that an operator confirmed to be dead", () => {
  async function confirmed(): Promise<SiteModel> {
    const site = bigSite();
    await site.run("2m");
    site.silence("a1");
    await site.run("2m");
    const version = site.api.find(leases, "kube-node-lease/a1")?.metadata.resourceVersion ?? "";
    const act = takeOutOfService(site.node("a1"), lease("a1", version), { by: "ops:bob" }, site.now);
    expect(await site.execute(act)).toBe(true);
    await site.run("10m");
    return site;
  }

  test("is out of service until it reports, regardless of which board leads", async () => {
    const site = await confirmed();
    await site.lead({ reboot: true });
    await site.run("10m");
    expect(site.noExecute("a1")).toContain("out-of-service=siteward:NoExecute");
    expect(site.exists("web-a1")).toBe(false);
  });

  test("returns to service when it reports again, and keeps its other taints", async () => {
    const site = await confirmed();
    const mine = { key: "example.com/mine", effect: "NoSchedule" };
    site.change("a1", (before) => ({
      ...before,
      spec: { ...before.spec, taints: [...(before.spec?.taints ?? []), mine] },
    }));
    site.revive("a1");
    await site.run("20s");
    expect(site.taints("a1")).toEqual(["example.com/mine:NoSchedule"]);
    expect(site.node("a1").metadata.annotations?.[outOfServiceAnnotation]).toBeUndefined();
  });

  /** The leader's taint reaches the API, and the link breaks before its cache shows it. */
  async function confirmedAsTheLinkBreaks(policy: "evidence" | "kubernetes"): Promise<SiteModel> {
    const site = bigSite(policy);
    site.pod("patient-a1", { on: "a1", tolerations: hour });
    await site.run("2m");
    site.silence("a1");
    await site.run("2m");
    site.cut();
    const version = site.api.find(leases, "kube-node-lease/a1")?.metadata.resourceVersion ?? "";
    const act = takeOutOfService(site.node("a1"), lease("a1", version), { by: "ops:bob" }, site.now);
    const { metadata, spec } = (act as { patch: { metadata: object; spec: object } }).patch;
    site.change("a1", (before) => ({
      ...before,
      metadata: { ...before.metadata, ...metadata },
      spec: { ...before.spec, ...spec },
    }));
    await site.run("1m");
    return site;
  }

  describe.each(["evidence", "kubernetes"] as const)("as the link broke (policy %s)", (policy) => {
    test("keeps its pods if it came back in the outage, and is in service again", async () => {
      const site = await confirmedAsTheLinkBreaks(policy);
      site.revive("a1");
      await site.run("1m");
      site.restore();
      await site.run("10m");
      expect([site.exists("patient-a1"), site.taints("a1")]).toEqual([true, []]);
    });

    test("keeps them if it can report only once the link is back", async () => {
      const site = await confirmedAsTheLinkBreaks(policy);
      site.restore();
      await site.run("20s");
      site.revive("a1");
      await site.run("10m");
      expect([site.exists("patient-a1"), site.taints("a1")]).toEqual([true, []]);
    });

    test("loses them a grace period after the outage if it is dead, under a freeze too", async () => {
      const site = await confirmedAsTheLinkBreaks(policy);
      freeze(site, { scope: "site" }, "1h");
      site.restore();
      await site.run("39s");
      expect([site.exists("patient-a1"), site.heldFor]).toEqual([true, ["quarantine"]]);
      await site.run("15s");
      expect(site.exists("patient-a1")).toBe(false);
    });

    test("keeps them under the next leader until that one has watched it for a grace period", async () => {
      const site = await confirmedAsTheLinkBreaks(policy);
      await site.lead({ reboot: true });
      await site.run("30s");
      expect([site.exists("patient-a1"), site.heldFor]).toEqual([true, ["verdict"]]);
      await site.run("30s");
      expect(site.exists("patient-a1")).toBe(false);
    });
  });

  test("is evicted only after its Node and its Lease were read, whatever the caches show", async () => {
    const site = bigSite();
    site.pod("patient-a1", { on: "a1", tolerations: hour });
    await site.run("2m");
    site.silence("a1");
    await site.run("2m");
    const before = site.fetched.length;
    const version = site.api.find(leases, "kube-node-lease/a1")?.metadata.resourceVersion ?? "";
    await site.execute(takeOutOfService(site.node("a1"), lease("a1", version), { by: "ops:bob" }, site.now));
    await site.run("1s");
    expect(site.exists("patient-a1")).toBe(false);
    expect(site.fetched.slice(before)).toEqual(
      expect.arrayContaining(["nodes a1", "leases.coordination.k8s.io kube-node-lease/a1", "pods default/patient-a1"]),
    );
  });

  /** A board that is dead by all that the caches show, and a pod on it that only the word can evict. */
  async function silent(): Promise<SiteModel> {
    const site = bigSite();
    site.pod("patient-a1", { on: "a1", tolerations: hour });
    await site.run("2m");
    site.silence("a1");
    await site.run("2m");
    return site;
  }

  const leaseOf = (site: SiteModel) => {
    const found = site.view.lister(leases).get("kube-node-lease/a1");
    if (!found) throw new Error("the cache has no Lease of a1");
    return found;
  };

  /** The leader confirms by what its caches show. */
  const takeOut = (site: SiteModel): Promise<boolean> =>
    site.execute(takeOutOfService(site.node("a1"), leaseOf(site), { by: "ops:bob" }, site.now));

  test.each([
    ["in an earlier term than the last one before that", 3, undefined, []],
    ["in the last term before that", 4, undefined, []],
    ["by an earlier program, which wrote no term", undefined, undefined, []],
    ["in a later term", 5, "ops:bob", ["out-of-service=siteward:NoExecute"]],
  ] as const)(
    "after a restore of the API server counts as confirmed only if that was done %s",
    async (_, term, by, taints) => {
      const site = await silent();
      site.undoneUntil = 4;
      const author = { by: "ops:bob", ...(term !== undefined && { term }) };
      await site.execute(takeOutOfService(site.node("a1"), leaseOf(site), author, site.now));
      await site.run("10s");
      expect(site.noExecute("a1").filter((taint) => taint.startsWith("out-of-service"))).toEqual(taints);
      expect(confirmerOf(site.node("a1"))?.by).toBe(by);
      expect(site.times(/ConfirmationWithdrawn/)).toHaveLength(by === undefined ? 1 : 0);
    },
  );

  test("keeps its pods if it renewed its Lease, which no cache of the leader shows yet", async () => {
    const site = await silent();
    site.delay("Lease");
    site.renew("a1");
    await takeOut(site);
    await site.run("30s");
    expect([site.exists("patient-a1"), site.heldFor]).toEqual([true, ["verdict"]]);
  });

  test("loses a pod that another client changes all the time only in a version that was just read", async () => {
    const site = await silent();
    const sent: (string | undefined)[] = [];
    site.refuse = (action) => {
      if (action.do !== "delete" || action.target.name !== "patient-a1") return undefined;
      sent.push(action.target.resourceVersion);
      const pod = site.findPod("patient-a1");
      const annotations = { after: `${sent.length}` };
      if (pod && sent.length <= 3) site.api.put(pods, { ...pod, metadata: { ...pod.metadata, annotations } });
      return undefined;
    };
    await takeOut(site);
    await site.run("10s");
    expect(sent).toHaveLength(4);
    expect(new Set(sent).size).toBe(4);
    expect(sent).not.toContain(undefined);
    expect(site.exists("patient-a1")).toBe(false);
  });

  test("loses pods for a taint of another client whatever it has shown since, as for any such order", async () => {
    const site = await silent();
    const deleted: unknown[] = [];
    site.refuse = (action) => {
      if (action.do === "delete") deleted.push([action.target.name, action.cause]);
      return undefined;
    };
    site.delay("Lease");
    site.renew("a1");
    await takeOut(site);
    site.setTaints("a1", ...(site.node("a1").spec?.taints ?? []), { key: "example.com/repair", effect: "NoExecute" });
    await site.run("1s");
    expect(deleted).toEqual([["patient-a1", undefined]]);
  });

  test("keeps pods that tolerate its taint as long as the evictions of any lost board are frozen", async () => {
    const site = await silent();
    const tolerated = [toleration("unreachable", 600), toleration("node.kubernetes.io/out-of-service")];
    site.tolerate("patient-a1", ...tolerated);
    freeze(site, { scope: "site" }, "1h");
    await takeOut(site);
    await site.run("20m");
    expect([site.exists("patient-a1"), site.heldFor]).toEqual([true, ["freeze"]]);
  });

  describe("and then by hand", () => {
    const byHand = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown" };
    const forever = [toleration("unreachable"), toleration("not-ready")];

    test("loses its pods like any board whose taint another client set, and its Lease is not read for that", async () => {
      const site = await silent();
      site.tolerate("patient-a1", ...forever, toleration("node.kubernetes.io/out-of-service", 10));
      site.setTaints("a1", ...(site.node("a1").spec?.taints ?? []), byHand);
      const before = site.fetched.length;
      await site.run("11s");
      expect(site.exists("patient-a1")).toBe(false);
      expect(site.fetched.slice(before)).toEqual(["nodes a1", "pods default/patient-a1"]);
    });

    test("put back into service keeps its pods, although the mark is left", async () => {
      const site = await silent();
      site.tolerate("patient-a1", ...forever, toleration("node.kubernetes.io/out-of-service", 10));
      await takeOut(site);
      await site.run("5s");
      const left = (site.node("a1").spec?.taints ?? []).filter(({ key }) => !key.endsWith("out-of-service"));
      site.setTaints("a1", ...left, { key: "example.com/repair", effect: "NoExecute", timeAdded: "T1" });
      site.tolerate("patient-a1", ...forever, { key: "example.com/repair", operator: "Exists", tolerationSeconds: 10 });
      const before = site.fetched.length;
      await site.run("9s");
      expect([site.exists("patient-a1"), site.fetched.slice(before)]).toEqual([true, []]);
      await site.run("2s");
      expect(site.fetched.slice(before)).toEqual(["nodes a1", "pods default/patient-a1"]);
      const patches: unknown[] = [];
      const versions = new Set<string | undefined>();
      site.refuse = (action) => {
        if (action.do === "patch" && action.target.name === "a1") {
          patches.push(action.patch);
          versions.add(action.target.resourceVersion);
        }
        return undefined;
      };
      site.renew("a1");
      await site.run("6s");
      expect(patches).toContainEqual({
        metadata: expect.objectContaining({ annotations: { [outOfServiceAnnotation]: null } }),
      });
      // It replaces all taints, so one that was added since must not be lost.
      expect(versions).not.toContain(undefined);
    });
  });

  test("keeps a pod that is bound to it after a report that the leader has not received yet", async () => {
    const site = await confirmed();
    site.delay("Node");
    site.report("a1", { Ready: "True" });
    site.pod("new-a1", { on: "a1" });
    await site.run("30s");
    expect([site.exists("new-a1"), site.noExecute("a1")]).toEqual([
      true,
      expect.arrayContaining(["out-of-service=siteward:NoExecute"]),
    ]);
  });

  test("is back in service if its kubelet removes the mark, because only a kubelet that runs can", async () => {
    const site = await confirmed();
    site.change("a1", (node) => ({ ...node, metadata: { ...node.metadata, annotations: {} } }));
    await site.run("6s");
    expect(site.noExecute("a1")).not.toContain("out-of-service=siteward:NoExecute");
  });

  test("keeps its pods from when its kubelet removed the mark until the taint could be removed as well", async () => {
    const site = await silent();
    site.delay("Lease");
    site.renew("a1");
    await takeOut(site);
    await site.run("2s");
    site.refuse = (action) =>
      action.do === "patch" && action.target.name === "a1" ? new Error("the Node was not changed") : undefined;
    site.change("a1", (node) => ({ ...node, metadata: { ...node.metadata, annotations: {} } }));
    await site.run("7s");
    expect(site.noExecute("a1")).toContain("out-of-service=siteward:NoExecute");
    expect([site.exists("patient-a1"), site.heldFor]).toEqual([true, ["verdict"]]);
  });

  test("by hand loses its pods at once, although its kubelet marks the taint as siteward's again and again", async () => {
    const site = bigSite();
    await site.run("2m");
    site.setTaints("a1", { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown" });
    for (let times = 0; times < 20; times++) {
      site.annotate("a1", { [outOfServiceAnnotation]: `{"v":${times}}` });
      await site.run("500ms");
    }
    expect(site.exists("patient-a1")).toBe(false);
    expect(site.noExecute("a1")).toEqual(["out-of-service=nodeshutdown:NoExecute"]);
  });

  test("keeps a taint that was set by hand, even if a client that may only annotate the Node marks it as siteward's", async () => {
    const site = bigSite();
    await site.run("2m");
    site.setTaints("a1", { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown" });
    site.annotate("a1", { [outOfServiceAnnotation]: "{}" });
    await site.run("10s");
    expect(site.noExecute("a1")).toEqual(["out-of-service=nodeshutdown:NoExecute"]);
    expect(site.node("a1").metadata.annotations?.[outOfServiceAnnotation]).toBeUndefined();
    expect(site.times(/BoardBackInService/)).toEqual([]);
    expect(site.times(/BoardBackInService/)).toEqual([]);
  });

  test("keeps a taint that another client added", async () => {
    const site = bigSite();
    await site.run("2m");
    site.setTaints("a1", { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown" });
    await site.run("10m");
    expect(site.noExecute("a1")).toHaveLength(1);
  });
});
