import { beforeEach, describe, expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import type { KubeObject } from "../../../../agent/api/meta.ts";
import {
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
} from "../../../../agent/api/resources.ts";
import { type Instant, shifted } from "../../../../agent/base/clock.ts";
import { lastSignOf } from "../../../../agent/controllers/node-lifecycle/health.ts";
import { takeOutOfService } from "../../../../agent/controllers/node-lifecycle/out-of-service/mark.ts";
import { openValve } from "../../../../agent/controllers/safety-valve.ts";
import { freezeKey } from "../../../../agent/holds/holds.ts";
import { lease, type NodeOptions, type PodOptions, toleration } from "../../../support/builders.ts";
import { SiteModel, type TermOptions } from "../site-model.ts";

const wish = "siteward.dev/on-silence";
const twoMinutes = [toleration("unreachable", 120), toleration("not-ready", 120)];
const aMinute = [toleration("unreachable", 60), toleration("not-ready", 60)];
const host = (name: string): NodeOptions => ({ labels: { "kubernetes.io/hostname": name } });
const onHost = (name: string): PodOptions => ({ nodeSelector: { "kubernetes.io/hostname": name } });

/** pi-1, on which the leader runs, pi-2 and pi-3, which falls silent; all pods are on pi-3. */
async function lostBoard(
  policy: "evidence" | "kubernetes",
  podsOf: Readonly<Record<string, PodOptions>>,
  more: (site: SiteModel) => void = () => {},
): Promise<SiteModel> {
  const site = new SiteModel({ policy, ownNode: "pi-1" });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name, host(name));
  for (const [name, options] of Object.entries(podsOf))
    site.pod(name, { on: "pi-3", tolerations: aMinute, ...options });
  more(site);
  await site.run("2m");
  site.silence("pi-3");
  return site;
}

const put = (site: SiteModel, resource: Resource<KubeObject>, name: string, more: object, namespace?: string): void => {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: "1", ...(namespace !== undefined && { namespace }) };
  site.api.put(resource, { metadata, ...more });
};

/** A claim of this name whose volume only some hosts can use. */
const volumeOn = (site: SiteModel, claim: string, ...hosts: readonly string[]): void => {
  for (const namespace of ["default", "tenant"])
    put(site, persistentVolumeClaims, claim, { spec: { volumeName: `volume-${claim}` } }, namespace);
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: hosts }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  put(site, persistentVolumes, `volume-${claim}`, {
    spec: { claimRef: { uid: `uid-${claim}` }, nodeAffinity: { required } },
  });
};

const annotate = (site: SiteModel, name: string, value: string): void => {
  const before = site.findPod(name);
  if (before) site.api.put(pods, { ...before, metadata: { ...before.metadata, annotations: { [wish]: value } } });
};

const annotateNamespace = (site: SiteModel, value: string): void =>
  put(site, namespaces, "default", {
    metadata: { name: "default", uid: "1", resourceVersion: "1", annotations: { [wish]: value } },
  });

const events = (site: SiteModel, name: string): readonly string[] =>
  site.events
    .filter(({ about, reason }) => about.name === name && reason === "TaintManagerEviction")
    .map(({ message }) => message);

const lastSign = (site: SiteModel, name: string): string =>
  lastSignOf(site.node(name), site.view.lister(leases).get(`kube-node-lease/${name}`)?.metadata.resourceVersion);

const hour = "1h";

/** The Node after the write that marks a silent board. */
function marked(before: Node): Node {
  const conditions = (before.status?.conditions ?? []).map((one) => ({
    ...one,
    status: "Unknown",
    lastTransitionTime: "2026-11-20T12:30:00Z",
  }));
  return { ...before, status: { ...before.status, conditions } };
}

test("a pod that arrives on a tainted board right after a change of leader has the whole time that it tolerates", async () => {
  const site = await lostBoard("evidence", { old: {} });
  await site.run("80s");
  expect([site.noExecute("pi-3"), site.exists("old")]).toEqual([["unreachable:NoExecute"], true]);
  await site.lead({ budget: site.budget });
  await site.run("20s");
  site.pod("young", { on: "pi-3", tolerations: aMinute });
  await site.run("30s");
  // The new leader judges the board again after a grace period, and the time of the old pod has gone on.
  expect([site.exists("old"), site.exists("young")]).toEqual([false, true]);
  await site.run("25s");
  expect(site.exists("young")).toBe(true);
  await site.run("10s");
  expect(site.exists("young")).toBe(false);
});

describe("a lost board returns, and its kubelet first says that it is not ready,", () => {
  /** The board has been lost for an hour; its pod, which nothing replaces, was held. */
  async function lostForAnHour(more?: (site: SiteModel) => void): Promise<SiteModel> {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" } }, more);
    await site.run(hour);
    expect(site.noExecute("pi-3")).toEqual(["unreachable:NoExecute"]);
    return site;
  }

  async function returned(lost?: SiteModel): Promise<SiteModel> {
    const site = lost ?? (await lostForAnHour());
    site.renew("pi-3");
    site.report("pi-3", { Ready: "False" });
    return site;
  }

  test("to a leader that took over while it was lost: its pods have the time that they tolerate", async () => {
    const site = await lostForAnHour();
    await site.lead({ budget: site.budget, kept: site.kept });
    await site.run("2m");
    await returned(site);
    await site.run("50s");
    expect(site.exists("set")).toBe(true);
    site.revive("pi-3");
    await site.run(hour);
    expect(site.exists("set")).toBe(true);
  });

  test.each([
    ["another board leads a moment later", (site: SiteModel) => ({ budget: site.budget })],
    ["the same board leads again a moment later", (site: SiteModel) => ({ budget: site.budget, kept: site.kept })],
    [
      "the same process leads again a moment later",
      (site: SiteModel) => ({ budget: site.budget, kept: site.kept, recalled: site.recollection }),
    ],
  ])("and %s: its pods have the time that they tolerate", async (_, handedOver) => {
    const site = await lostForAnHour();
    await returned(site);
    await site.run("5s");
    await site.lead(handedOver(site));
    await site.run("50s");
    expect(site.exists("set")).toBe(true);
    site.revive("pi-3");
    await site.run(hour);
    expect(site.exists("set")).toBe(true);
  });

  /** The kubelet says again and again that it is not ready. */
  async function reporting(site: SiteModel, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      await site.run("10s");
      site.renew("pi-3");
      site.report("pi-3", { Ready: "False" });
    }
  }

  const terms: readonly (readonly [string, ((site: SiteModel) => TermOptions) | undefined])[] = [
    ["one leader", undefined],
    ["two leaders", ({ budget }) => ({ budget })],
    ["two terms of a board", ({ budget, kept }) => ({ budget, kept })],
  ];

  test.each(terms)("under %s, a taint that others set does not take the time from its pods", async (_, handedOver) => {
    const maintenance = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
    const aDay = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 86_400 };
    const set = { owner: "StatefulSet", tolerations: [...twoMinutes, aDay] };
    const site = await lostBoard("evidence", { set }, (made) => made.setTaints("pi-3", maintenance));
    await site.run(hour);
    await returned(site);
    await reporting(site, 1);
    if (handedOver) await site.lead(handedOver(site));
    await reporting(site, 10);
    expect(site.exists("set")).toBe(true);
    await reporting(site, 4);
    expect(site.exists("set")).toBe(false);
  });

  test.each(terms)(
    "under %s, neither does the taint of an earlier report that stood throughout",
    async (_, handedOver) => {
      const site = await lostBoard("evidence", { set: { owner: "StatefulSet", tolerations: twoMinutes } });
      site.renew("pi-3");
      site.report("pi-3", { Ready: "False" });
      await site.run("10s");
      expect(site.noExecute("pi-3")).toEqual(["not-ready:NoExecute"]);
      // A freeze keeps it from being replaced by `unreachable`.
      const frozenUntil = (end: Instant) => {
        const freeze = { end, slowEnd: end, by: "ops:jo", reason: undefined, foreign: {} };
        site.hold((holds) => ({
          ...holds,
          freezes: new Map([[freezeKey({ scope: "site" }), { ...freeze, scope: "site" }]]),
        }));
      };
      frozenUntil(shifted(site.now, 3_600_000));
      site.silence("pi-3");
      await site.run("2m");
      expect([site.noExecute("pi-3"), site.conditions("pi-3").Ready]).toEqual([["not-ready:NoExecute"], "Unknown"]);
      await returned(site);
      await reporting(site, 1);
      frozenUntil(site.now);
      if (handedOver) await site.lead(handedOver(site));
      await reporting(site, 10);
      expect(site.exists("set")).toBe(true);
      await reporting(site, 4);
      expect(site.exists("set")).toBe(false);
    },
  );

  test.each([
    ["one leader", false],
    ["two", true],
  ])("under %s, even a pod that does not tolerate this stays for a grace period", async (_, changes) => {
    const brief = { owner: "StatefulSet", tolerations: [toleration("unreachable", 60)] };
    const site = await lostBoard("evidence", { brief });
    await site.run(hour);
    await returned(site);
    if (changes) {
      await site.run("5s");
      await site.lead({ budget: site.budget, kept: site.kept });
    }
    await site.run("35s");
    expect(site.exists("brief")).toBe(true);
    await site.run("20s");
    expect(site.exists("brief")).toBe(false);
  });

  test("to a leader that got no answer when it marked the board: they have it as well", async () => {
    let lost = 0;
    const site = await lostForAnHour((made) => {
      made.refuse = (action) => {
        if (action.do !== "patch" || action.target.name !== "pi-3" || action.subresource !== "status") return undefined;
        if (lost++ > 0) return undefined;
        made.change("pi-3", marked);
        return "retry";
      };
    });
    expect([lost, site.podReady("set")]).toEqual([1, "False"]);
    await returned(site);
    await site.run("50s");
    expect(site.exists("set")).toBe(true);
  });

  test("so its pods, which ran all the time, stay until it is ready", async () => {
    const site = await returned();
    await site.run("50s");
    expect(site.noExecute("pi-3")).toEqual(["not-ready:NoExecute"]);
    expect(site.exists("set")).toBe(true);
    site.revive("pi-3");
    await site.run("10s");
    expect(site.noExecute("pi-3")).toEqual([]);
    await site.run(hour);
    expect(site.exists("set")).toBe(true);
  });

  test("and if it remains so, they have the time that they tolerate from then on", async () => {
    const site = await returned();
    await reporting(site, 5);
    expect(site.exists("set")).toBe(true);
    await reporting(site, 3);
    expect(site.exists("set")).toBe(false);
  });
});

describe("of a lost board's pods", () => {
  const all = {
    moves: {},
    job: { owner: "Job" },
    set: { owner: "StatefulSet" },
    bare: { owner: undefined },
    daemon: { owner: "DaemonSet" },
    here: onHost("pi-3"),
    there: onHost("pi-2"),
  };
  const exist = (site: SiteModel): readonly string[] => Object.keys(all).filter((name) => site.exists(name));

  test("those leave that a second copy can replace, when they always left; the others stay", async () => {
    const [site, upstream] = [await lostBoard("evidence", all), await lostBoard("kubernetes", all)];
    for (const one of [site, upstream]) await one.run(hour);
    expect(exist(site)).toEqual(["set", "bare", "daemon", "here"]);
    expect(exist(upstream)).toEqual([]);
    for (const name of ["moves", "job", "there"]) {
      expect(site.times(`deleted ${name}`)).toEqual(upstream.times(`deleted ${name}`));
    }
    expect(site.heldFor).toEqual(["no-gain"]);
  });

  test("those that stay get one Event, which says why and how to evict them all the same", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" }, bare: { owner: undefined } });
    await site.run(hour);
    expect(events(site, "bare")).toEqual([
      "Not deleting Pod default/bare: no controller would replace the pod, so an eviction would lose it for good; " +
        "board.confirm-dead evicts it all the same, and so does siteward.dev/on-silence: replace-when-lost on the pod or its namespace",
    ]);
    expect(events(site, "set")).toEqual([
      expect.stringMatching(/^Not deleting Pod default\/set: its StatefulSet starts/),
    ]);
  });

  test("one that was recreated, unseen by the cache, gets no Event that it stays", async () => {
    const site = await lostBoard("evidence", { moves: {} });
    site.refuse = (action) => {
      const pod = site.findPod("moves");
      if (action.do !== "delete" || action.target.name !== "moves" || pod === undefined) return undefined;
      // What is written from now on does not come.
      site.link = "half-open";
      site.api.put(pods, { ...pod, metadata: { ...pod.metadata, uid: "uid-of-the-next" } });
      return "refresh";
    };
    await site.run("10m");
    expect(events(site, "moves").filter((message) => message.startsWith("Not deleting"))).toEqual([]);
  });

  test("those that stay have one record, which lapses when the board returns", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" } });
    await site.run(hour);
    site.revive("pi-3");
    await site.run("1m");
    const told = site.recorded.lines.filter(({ fields }) => fields.act === "pod-evicted");
    expect(told.map(({ message, fields }) => [message, fields.why])).toEqual([
      ["harmful act held", "no-gain"],
      ["harmful act no longer due", undefined],
    ]);
    expect([site.exists("set"), site.heldFor]).toEqual([true, []]);
  });

  test("those that an operator's word about the zone covers leave, whatever they would gain", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" }, bare: { owner: undefined } });
    site.silence("pi-1", "pi-2");
    await site.run("10m");
    expect(site.exists("set")).toBe(true);
    const end = shifted(site.now, 3_600_000);
    const lastSigns = new Set(["pi-1", "pi-2", "pi-3"].map((name) => lastSign(site, name)));
    const confirmation = { end, by: "ops:jo", reason: undefined, foreign: {}, lastSigns };
    site.hold((holds) => ({ ...holds, confirmed: new Map([["default", confirmation]]) }));
    await site.run("10m");
    expect([site.exists("set"), site.exists("bare")]).toEqual([false, false]);
  });

  test("all leave within seconds of an operator's word that the board is dead, even those that are to be held", async () => {
    const site = await lostBoard("evidence", {
      set: { owner: "StatefulSet" },
      bare: { owner: undefined },
      held: { annotations: { [wish]: "hold" } },
      here: onHost("pi-3"),
    });
    await site.run(hour);
    expect(site.times(/^deleted/)).toEqual([]);
    const version = site.api.find(leases, "kube-node-lease/pi-3")?.metadata.resourceVersion ?? "";
    const word = takeOutOfService(site.node("pi-3"), lease("pi-3", version), { by: "ops:jo" }, site.now);
    expect(await site.execute(word)).toBe(true);
    await site.run("5s");
    expect(["set", "bare", "held", "here"].filter((name) => site.exists(name))).toEqual([]);
    expect(site.heldFor).toEqual([]);
  });

  test("those of a namespace with hundreds of them do not have to leave before the others", async () => {
    const many = Array.from({ length: 300 }, (_, index) => [`a-${index}`, { namespace: "aaa" }] as const);
    const site = await lostBoard("evidence", { ...Object.fromEntries(many), z: { namespace: "zzz" } });
    await site.run("80s");
    expect(site.times(/^deleted/)).toEqual([]);
    const deleted = () => site.happenings.filter(({ what }) => what.startsWith("deleted")).map(({ what }) => what);
    const version = site.api.find(leases, "kube-node-lease/pi-3")?.metadata.resourceVersion ?? "";
    await site.execute(takeOutOfService(site.node("pi-3"), lease("pi-3", version), { by: "ops:jo" }, site.now));
    await site.run("20s");
    expect(deleted()).toHaveLength(301);
    expect(deleted().findIndex((what) => what.includes("z"))).toBeLessThan(20);
  });

  test("those that no kubelet has started, or that are being deleted, are treated as before", async () => {
    const site = await lostBoard("evidence", {
      fresh: { owner: "StatefulSet", conditions: [] },
      going: { owner: "StatefulSet", deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    await site.run(hour);
    expect([site.exists("fresh"), events(site, "going")]).toEqual([
      false,
      [expect.stringMatching(/^Marking for deletion/)],
    ]);
  });

  test("those that stay do so under the next leaders too, before and after a reboot, and only the first explains it", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" } });
    await site.run("10m");
    for (const reboot of [false, true]) {
      await site.lead({ budget: site.budget, kept: site.kept, reboot });
      await site.run("20m");
      expect([site.exists("set"), site.heldFor]).toEqual([true, ["no-gain"]]);
    }
    expect(events(site, "set")).toHaveLength(1);
  });

  test("are explained by the next leader if they become due in its term, or for another reason", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" } });
    while (site.noExecute("pi-3").length === 0) await site.run("1s");
    await site.lead({ budget: site.budget, kept: site.kept });
    await site.run("10m");
    expect(events(site, "set")).toHaveLength(1);
    annotate(site, "set", "hold");
    await site.run("1m");
    expect(events(site, "set")).toHaveLength(2);
  });

  test("a StatefulSet of another API group is replaced like any other pod", async () => {
    const site = await lostBoard("evidence", { set: { owner: "StatefulSet" } });
    const before = site.findPod("set");
    const [owner] = before?.metadata.ownerReferences ?? [];
    if (before && owner) {
      const ownerReferences = [{ ...owner, apiVersion: "apps.kruise.io/v1beta1" }];
      site.api.put(pods, { ...before, metadata: { ...before.metadata, ownerReferences } });
    }
    await site.run("10m");
    expect(site.exists("set")).toBe(false);
  });
});

describe("the annotation siteward.dev/on-silence", () => {
  test.each([
    ["hold", undefined, true],
    ["replace-when-lost", undefined, false],
    [undefined, "hold", true],
    [undefined, "replace-when-lost", false],
    ["replace-when-lost", "hold", false],
    ["hold", "replace-when-lost", true],
    ["Hold ", "replace-when-lost", true],
    ["", undefined, true],
    [undefined, `${"x".repeat(100_000)}`, true],
  ] as const)("on the pod: %j, on its namespace: %.10j; the pod stays: %s", async (own, common, stays) => {
    for (const owner of ["ReplicaSet", "StatefulSet", undefined]) {
      const site = await lostBoard("evidence", {
        web: { owner, ...(own !== undefined && { annotations: { [wish]: own } }) },
      });
      if (common !== undefined) annotateNamespace(site, common);
      await site.run("10m");
      expect([owner, site.exists("web")]).toEqual([owner, stays]);
    }
  });

  test("added to a pod that stays evicts it at once, and on its namespace within five minutes", async () => {
    const site = await lostBoard("evidence", { one: { owner: "StatefulSet" }, two: { owner: "StatefulSet" } });
    await site.run("10m");
    annotate(site, "one", "replace-when-lost");
    await site.run("1s");
    expect([site.exists("one"), site.exists("two")]).toEqual([false, true]);
    annotateNamespace(site, "replace-when-lost");
    await site.run("5m");
    expect(site.exists("two")).toBe(false);
  });

  test("added before the toleration time has ended keeps the pod", async () => {
    const site = await lostBoard("evidence", { web: {} });
    while (site.noExecute("pi-3").length === 0) await site.run("1s");
    annotate(site, "web", "hold");
    await site.run(hour);
    expect(site.exists("web")).toBe(true);
    expect(events(site, "web")).toEqual([expect.stringContaining("siteward.dev/on-silence of the pod keeps it")]);
  });

  test("added just before the eviction keeps the pod, although the cache does not show it yet", async () => {
    const site = await lostBoard("evidence", { web: {} });
    while (site.noExecute("pi-3").length === 0) await site.run("1s");
    await site.run("50s");
    site.delay("Pod");
    annotate(site, "web", "hold");
    await site.run("10m");
    expect([site.exists("web"), site.heldFor]).toEqual([true, ["no-gain"]]);
  });

  test("has no effect on evictions for a taint that a person set", async () => {
    const site = await lostBoard("evidence", { web: { owner: undefined, annotations: { [wish]: "hold" } } });
    site.revive("pi-3");
    site.setTaints("pi-3", { key: "maintenance", effect: "NoExecute" });
    await site.run("1m");
    expect(site.exists("web")).toBe(false);
  });

  test("is read from the namespace once for all its pods, and only for pods that would be evicted", async () => {
    const site = await lostBoard("evidence", Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, {}])));
    const reads = (): number => site.fetched.filter((one) => one === "namespaces default").length;
    while (site.noExecute("pi-3").length === 0) await site.run("1s");
    await site.run("59s");
    expect(reads()).toBe(0);
    await site.run("1m");
    expect([reads(), site.exists("a"), site.exists("d")]).toEqual([1, false, false]);
  });
});

describe("a pod that its ReplicaSet would replace", () => {
  test("stays while no other board is Ready and uncordoned, and leaves within half a minute of one that is", async () => {
    const site = await lostBoard("evidence", { web: {} });
    for (const name of ["pi-1", "pi-2"])
      site.change(name, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    await site.run("20m");
    expect(site.exists("web")).toBe(true);
    expect(events(site, "web")).toEqual([expect.stringContaining("no other board is Ready and uncordoned")]);
    site.change("pi-2", (node) => ({ ...node, spec: { ...node.spec, unschedulable: false } }));
    await site.run("30s");
    expect(site.exists("web")).toBe(false);
  });

  test.each([
    ["a taint that it does not tolerate", { taints: [{ key: "gpu", effect: "NoSchedule" }] }, true],
    ["a taint that only discourages", { taints: [{ key: "gpu", effect: "PreferNoSchedule" }] }, false],
  ])("meets %s on the other boards, and stays: %s", async (_, { taints }, stays) => {
    const site = await lostBoard("evidence", { web: {} });
    for (const name of ["pi-1", "pi-2"]) site.setTaints(name, ...taints);
    await site.run("10m");
    expect(site.exists("web")).toBe(stays);
  });

  test.each([
    [{ cpu: "4", memory: "8Gi" }, false],
    [{ cpu: "3999m" }, true],
    [{ cpu: "4", "site.test/camera": "1" }, false],
    [undefined, false],
  ])("asks for 4 cores of boards with %j, and stays: %s", async (allocatable, stays) => {
    const site = await lostBoard("evidence", { web: {} });
    const before = site.findPod("web");
    const containers = [{ name: "main", resources: { requests: { cpu: "4", "site.test/none": "0" } } }];
    if (before) site.api.put(pods, { ...before, spec: { ...before.spec, containers } });
    for (const name of ["pi-1", "pi-2"])
      site.change(name, (node) => ({ ...node, status: { ...node.status, ...(allocatable && { allocatable }) } }));
    await site.run("10m");
    expect(site.exists("web")).toBe(stays);
  });

  test.each([
    [["pi-3"], true],
    [["pi-3", "pi-2"], false],
    [["pi-3", "pi-9"], true],
  ] as const)("has a volume that %j can use, and stays: %s", async (hosts, stays) => {
    const site = await lostBoard("evidence", { web: { claims: ["none", "data"] } }, (begun) => {
      volumeOn(begun, "data", ...hosts);
    });
    await site.run("10m");
    expect(site.exists("web")).toBe(stays);
    if (stays) expect(events(site, "web")).toEqual([expect.stringContaining("its volume cannot be used")]);
  });

  test("has a volume that is read once in an hour, not with each check", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["data"] } }, (begun) => volumeOn(begun, "data", "pi-3"));
    await site.run("50m");
    expect(site.fetched.filter((one) => one.startsWith("persistent"))).toEqual([
      "persistentvolumeclaims default/data",
      "persistentvolumes volume-data",
    ]);
  });

  describe("has a volume that is read once in an hour, beside a tenant", () => {
    const claims = Array.from({ length: 8 }, (_, index) => `claim-${index}`);
    const tenants = (count: number, claimed: readonly string[]): Readonly<Record<string, PodOptions>> =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`tenant-${index}`, { namespace: "tenant", claims: claimed }]),
      );
    const readings = (site: SiteModel, namespace: string): number =>
      site.fetched.filter((one) => one.startsWith(`persistentvolumeclaims ${namespace}/`)).length;

    test("whose pods have many volumes, which are also read once, and only up to the one that binds the pod", async () => {
      const site = await lostBoard("evidence", { ...tenants(100, claims), web: { claims: ["data"] } }, (begun) => {
        for (const claim of claims) volumeOn(begun, claim, "pi-3", claim < "claim-5" ? "pi-2" : "pi-3");
        volumeOn(begun, "data", "pi-3");
      });
      await site.run("50m");
      expect(site.times(/^deleted/)).toEqual([]);
      expect([readings(site, "default"), readings(site, "tenant")]).toEqual([1, 600]);
    });

    test.each([
      ["as early as", {}],
      ["later than", { tolerations: [toleration("unreachable", 300), toleration("not-ready", 300)] }],
    ])("with more pods than are remembered, and is due %s they are", async (_, own) => {
      const pods = { ...tenants(600, ["claim-0"]), web: { claims: ["data"], ...own } };
      const site = await lostBoard("evidence", pods, (begun) => {
        for (const claim of ["claim-0", "data"]) volumeOn(begun, claim, "pi-3");
      });
      await site.run("50m");
      expect(readings(site, "default")).toBe(1);
      // Each pod once; those without room, 90 of them, also every three minutes.
      expect(readings(site, "tenant")).toBeGreaterThan(600 + 10 * 90);
      expect(readings(site, "tenant")).toBeLessThan(600 + 17 * 90);
    });
  });

  test("has a volume that is read once in an hour, although many pods of its namespace had to be remembered before", async () => {
    const left = Array.from({ length: 600 }, (_, index) => [`left-${index}`, { claims: ["anywhere"] }] as const);
    const later = { tolerations: [toleration("unreachable", 600), toleration("not-ready", 600)] };
    const site = await lostBoard(
      "evidence",
      { ...Object.fromEntries(left), web: { claims: ["data"], ...later } },
      (begun) => volumeOn(begun, "data", "pi-3"),
    );
    await site.run("50m");
    expect([site.exists("left-599"), site.exists("web")]).toEqual([false, true]);
    expect(site.fetched.filter((one) => one === "persistentvolumeclaims default/data")).toHaveLength(1);
  });

  test("has no volume yet, cannot be deleted, and stays once it has one that no other board can use", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["data"] } });
    site.refuse = ({ do: verb }) => (verb === "delete" ? "retry" : undefined);
    while (!site.fetched.includes("persistentvolumeclaims default/data")) await site.run("1s");
    volumeOn(site, "data", "pi-3");
    await site.run("10m");
    site.refuse = () => undefined;
    await site.run("20m");
    expect(site.exists("web")).toBe(true);
  });

  test("leaves when a board comes back that can use the volume, and its other volumes do not bind it", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["data", "more"] } }, (begun) => {
      volumeOn(begun, "data", "pi-2", "pi-3");
      volumeOn(begun, "more", "pi-1", "pi-2", "pi-3");
      begun.change("pi-2", (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    });
    await site.run("20m");
    expect(site.exists("web")).toBe(true);
    expect(site.fetched.some((one) => one.endsWith("/more"))).toBe(false);
    site.change("pi-2", (node) => ({ ...node, spec: { ...node.spec, unschedulable: false } }));
    await site.run("4m");
    expect(site.exists("web")).toBe(false);
    expect(site.fetched.some((one) => one.endsWith("/more"))).toBe(true);
  });

  test("has so many placement rules that no board is searched for, and leaves", async () => {
    const site = await lostBoard("evidence", { few: onHost("pi-3"), many: onHost("pi-3") });
    const before = site.findPod("many");
    const long = Array.from({ length: 300 }, (_, index) => toleration(`taint-${index}`));
    const tolerations = [...(before?.spec?.tolerations ?? []), ...long];
    if (before?.spec) site.api.put(pods, { ...before, spec: { ...before.spec, tolerations } });
    await site.run("10m");
    expect([site.exists("few"), site.exists("many")]).toEqual([true, false]);
  });

  test("has a claim that names a volume of another one, and leaves", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["mine"] } }, (begun) => {
      volumeOn(begun, "data", "pi-3");
      put(begun, persistentVolumeClaims, "mine", { spec: { volumeName: "volume-data" } }, "default");
    });
    await site.run("10m");
    expect(site.exists("web")).toBe(false);
  });

  test("is not looked for another board while the safety valve is shut", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["data"] }, set: { owner: "StatefulSet" } }, (begun) =>
      volumeOn(begun, "data", "pi-3"),
    );
    const restraint = { why: "valve", of: "acts", count: 10, limit: 10 } as const;
    while (site.noExecute("pi-3").length === 0) await site.run("1s");
    site.permit({ shut: { restraint, until: undefined }, boards: "half" });
    await site.run("10m");
    expect(site.heldFor.toSorted()).toEqual(["no-gain", "valve"]);
    expect(site.fetched.filter((one) => one.startsWith("persistent"))).toEqual([]);
    site.permit(openValve);
    await site.run("1m");
    expect([site.exists("web"), site.heldFor]).toEqual([true, ["no-gain"]]);
  });

  test("has a volume and a selector that no single board satisfies, so it stays", async () => {
    const site = await lostBoard("evidence", { web: { claims: ["data"], ...onHost("pi-1") } }, (begun) =>
      volumeOn(begun, "data", "pi-2"),
    );
    await site.run("10m");
    expect(site.exists("web")).toBe(true);
  });
});

describe("a pod on a large site", () => {
  let site: SiteModel;
  beforeEach(async () => {
    site = new SiteModel({ policy: "evidence", ownNode: "a-1" });
    for (let index = 0; index < 150; index++) site.board(`a-${index}`, host(`a-${index}`));
    site.board("z", host("z"));
    site.pod("far", { on: "z", tolerations: aMinute, ...onHost("a-99") });
    site.pod("here", { on: "z", tolerations: aMinute, ...onHost("z") });
    await site.run("2m");
    site.silence("z");
    await site.run("10m");
  });

  test("leaves if the last of many boards suits it, and stays if none does", () => {
    expect([site.exists("far"), site.exists("here")]).toEqual([false, true]);
  });
});

describe("on a site that is a part of a cluster", () => {
  test.each([
    ["any board", {}, false],
    ["a board that is not in the cache", onHost("pi-9"), false],
    ["its own board alone", onHost("pi-3"), true],
    ["the boards of a zone", { nodeSelector: { zone: "a" } }, false],
  ] as const)("a pod that may run on %s stays: %s", async (_, options, stays) => {
    const site = await lostBoard("evidence", { web: options }, (begun) => {
      begun.seesAllBoards = false;
    });
    for (const name of ["pi-1", "pi-2"])
      site.change(name, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    await site.run("10m");
    expect(site.exists("web")).toBe(stays);
  });
});

test("on a site of boards that are Ready in the API, the pod of the only one stays", async () => {
  const site = new SiteModel({ policy: "evidence", ownNode: "gateway" });
  site.board("pi");
  site.pod("web", { on: "pi", tolerations: aMinute });
  await site.run("2m");
  site.silence("pi");
  await site.run(hour);
  expect(site.exists("web")).toBe(true);
  expect(site.api.all(nodes)).toHaveLength(1);
});
