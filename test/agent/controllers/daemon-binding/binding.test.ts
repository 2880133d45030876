import { describe, expect, test } from "vitest";
import type { DaemonSet, Node, Pod } from "../../../../agent/api/core.ts";
import { pinTo } from "../../../../agent/api/node-affinity.ts";
import { daemonSets, nodes, pods } from "../../../../agent/api/resources.ts";
import { daemonBinding } from "../../../../agent/controllers/daemon-binding/controller.ts";
import { decideInSteps, waitingPod } from "../../../../agent/controllers/daemon-binding/decide.ts";
import { lacking, UsedCapacity } from "../../../../agent/controllers/daemon-binding/fit.ts";
import { type HostPort, needsOf, type PodNeeds } from "../../../../agent/controllers/daemon-binding/pod-needs.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";
import { node, pod, taint, toleration } from "../../../support/builders.ts";
import { countedSite } from "../counted-site.ts";

const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "uid-agent", controller: true };

function board(name = "n1", allocatable: Readonly<Record<string, string>> = {}, taints: readonly string[] = []): Node {
  const room = { cpu: "1", memory: "1Gi", pods: "10", ...allocatable };
  return { ...node(name, { taints: taints.map((text) => taint(text)) }), status: { allocatable: room } };
}

interface Wants {
  readonly cpu?: string;
  readonly gpu?: string;
  readonly port?: number;
  readonly on?: string;
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
}

/** Made for n1 by a DaemonSet, and not bound yet unless it is said where it is. */
function daemonPod(name: string, { cpu, gpu, port, on, spec }: Wants = {}): Pod {
  const { metadata } = pod(name);
  const requests = { ...(cpu !== undefined && { cpu }), ...(gpu !== undefined && { "example.com/gpu": gpu }) };
  const ports = port === undefined ? [] : [{ containerPort: 1, hostPort: port }];
  return {
    metadata: { ...metadata, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [owner] },
    spec: {
      containers: [{ name: "main", resources: { requests }, ports }],
      affinity: pinTo(undefined, "n1"),
      ...(on !== undefined && { nodeName: on }),
      ...spec,
    },
    status: { phase: on === undefined ? "Pending" : "Running" },
  };
}

describe("a board", () => {
  const full = (...running: readonly Pod[]) => UsedCapacity.by(...running.map(needsOf));

  test.each<[string, Pod, Node, readonly Pod[], readonly string[]]>([
    [
      "accepts a pod that fits exactly",
      daemonPod("p", { cpu: "400m" }),
      board(),
      [daemonPod("o", { cpu: "600m" })],
      [],
    ],
    [
      "refuses a pod that needs one thousandth more",
      daemonPod("p", { cpu: "401m" }),
      board(),
      [daemonPod("o", { cpu: "600m" })],
      ["Insufficient cpu"],
    ],
    ["accepts a pod without requests, even if it is full", daemonPod("p"), board(), [daemonPod("o", { cpu: "5" })], []],
    ["lacks a resource that it never had", daemonPod("p", { gpu: "1" }), board(), [], ["Insufficient example.com/gpu"]],
    [
      "gives its only unit of a resource",
      daemonPod("p", { gpu: "1" }),
      board("n1", { "example.com/gpu": "1" }),
      [],
      [],
    ],
    [
      "gives a single unit only once",
      daemonPod("p", { gpu: "1" }),
      board("n1", { "example.com/gpu": "1" }),
      [daemonPod("o", { gpu: "1" })],
      ["Insufficient example.com/gpu"],
    ],
    [
      "gives a port only once",
      daemonPod("p", { port: 80 }),
      board(),
      [daemonPod("o", { port: 80 })],
      ["node didn't have free ports for the requested pod ports"],
    ],
    ["gives another port as well", daemonPod("p", { port: 80 }), board(), [daemonPod("o", { port: 81 })], []],
    ["has room for the last pod", daemonPod("p"), board("n1", { pods: "2" }), [daemonPod("o")], []],
    ["has no room for one pod more", daemonPod("p"), board("n1", { pods: "1" }), [daemonPod("o")], ["Too many pods"]],
    [
      "refuses a pod that does not tolerate its taint",
      daemonPod("p"),
      board("n1", {}, ["own=x:NoSchedule"]),
      [],
      ["node had untolerated taint(s) {own: x}"],
    ],
    [
      "accepts a pod despite a PreferNoSchedule taint",
      daemonPod("p"),
      board("n1", {}, ["own=x:PreferNoSchedule"]),
      [],
      [],
    ],
    [
      "accepts a pod that tolerates its taint",
      daemonPod("p", { spec: { tolerations: [{ operator: "Exists" }] } }),
      board("n1", {}, ["own=x:NoSchedule"]),
      [],
      [],
    ],
    [
      "accepts only pods that are meant for it",
      daemonPod("p"),
      board("n2"),
      [],
      ["node didn't match Pod's node affinity/selector"],
    ],
    [
      "reports all reasons",
      daemonPod("p", { cpu: "2" }),
      board("n1", { pods: "0" }),
      [],
      ["Too many pods", "Insufficient cpu"],
    ],
  ])("%s", (_, wanted, there, running, why) => {
    const { needs, unsuited } = waitingPod(wanted, there);
    expect([...unsuited, ...lacking(needs, there, full(...running))]).toEqual(why);
  });
});

test("two pods conflict on a port and protocol if they use the same address, or if one of them uses all addresses", () => {
  const port = { address: "0.0.0.0", protocol: "TCP", port: 80 };
  const needs = (...ports: readonly HostPort[]): PodNeeds => ({ resources: new Map(), ports });
  const isFree = (wanted: HostPort, ...there: readonly HostPort[]): boolean =>
    lacking(needs(wanted), board(), UsedCapacity.by(needs(...there))).length === 0;
  const at = (address: string): HostPort => ({ ...port, address });
  expect(isFree(port, port)).toBe(false);
  expect(isFree(port, at("10.0.0.1"))).toBe(false);
  expect(isFree(at("10.0.0.1"), port)).toBe(false);
  expect(isFree(at("10.0.0.1"), at("10.0.0.2"))).toBe(true);
  expect(isFree(port, { ...port, protocol: "UDP" })).toBe(true);
  expect(isFree(port, { ...port, port: 81 })).toBe(true);
  // A board has few addresses: a port that is used at many is used at every one.
  const many = (count: number) => Array.from({ length: count }, (_, i) => at(`10.0.1.${i}`));
  expect(isFree(at("10.0.0.1"), ...many(16))).toBe(true);
  expect(isFree(at("10.0.0.1"), ...many(17))).toBe(false);
});

test("a pod of more than a thousand host ports, or of resources that no board has, is refused with a short message", () => {
  const ports = Array.from({ length: 1001 }, (_, i) => ({ containerPort: 1, hostPort: i + 1 }));
  const requests = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`example.com/r${i}`, "1"]));
  const of = (main: object): Pod => daemonPod("p", { spec: { containers: [{ name: "main", ...main }] } });
  const wide = waitingPod(of({ ports }), board());
  expect(wide).toMatchObject({ unsuited: ["more than 1000 host ports"], needs: { ports: [] } });
  expect(waitingPod(of({ ports: ports.slice(1) }), board()).unsuited).toEqual([]);
  const { needs } = waitingPod(of({ resources: { requests: { cpu: "1", ...requests } } }), board());
  expect(lacking(needs, board(), new UsedCapacity())).toHaveLength(16);
  expect([...needs.resources.keys()]).toContain("cpu");
});

test("the pods of a board, and those that wait for it, are read one per step, and little of each is held", async () => {
  const tolerations = Array.from({ length: 1000 }, (_, i) => toleration(`k${i}`));
  const ports = Array.from({ length: 1000 }, (_, i) => ({ containerPort: 1, hostPort: 1000 + i }));
  const large = (name: string, on?: string): Pod =>
    daemonPod(name, { ...(on && { on }), spec: { tolerations, containers: [{ name: "main", ports }] } });
  const waiting = Array.from({ length: 20 }, (_, i) => daemonPod(`w${i}`, { port: 80, spec: { tolerations } }));
  const there = Array.from({ length: 20 }, (_, i) => large(`t${i}`, "n1"));
  const metadata = { name: "agent", namespace: "default", uid: owner.uid, resourceVersion: "1" };
  const set: DaemonSet = { metadata };
  const { site, reads } = countedSite([
    [nodes, [board()]],
    [pods, [...waiting, ...there]],
    [daemonSets, [set]],
  ]);
  const state = await daemonBinding.observe("n1", site, new Set());
  expect(reads).toEqual({ count: 40, steps: 40 });
  expect(state?.waiting).toHaveLength(20);
  expect(state?.taken.pods).toBe(20);
  // No waiting pod asks for the ports of the others.
  expect(state?.taken.isTaken({ address: "0.0.0.0", protocol: "TCP", port: 1000 })).toBe(false);
  expect(JSON.stringify(state?.waiting).length).toBeLessThan(20 * 1000);
});

test("a hundred pods with a thousand host ports each are decided one per step, and the observed state stays unchanged", () => {
  const ports = (of: number) =>
    Array.from({ length: 1000 }, (_, i) => ({ containerPort: 1, hostPort: 300 * of + i + 1 }));
  const waiting = Array.from({ length: 100 }, (_, i) =>
    waitingPod(daemonPod(`w${i}`, { spec: { containers: [{ name: "main", ports: ports(i) }] } }), board()),
  );
  const taken = new UsedCapacity();
  let steps = 0;
  const passes = decideInSteps({ node: board(), taken, waiting }, new Set(), { mono: 0, wall: 0 });
  for (let next = passes.next(); !next.done; next = passes.next()) steps++;
  expect(steps).toBe(100);
  expect(taken.pods).toBe(0);
});

class BindingSite {
  readonly site = new Site(new CaseTime());

  constructor(schedulerName = "default-scheduler") {
    const template = { spec: { schedulerName, containers: [{ name: "main", image: "example/agent:1" }] } };
    const metadata = { name: "agent", namespace: "default", uid: owner.uid, resourceVersion: "1" };
    this.site.api.put(daemonSets, { metadata, spec: { selector: { matchLabels: { app: "agent" } }, template } });
  }

  put(...objects: readonly (Node | Pod)[]): void {
    for (const object of objects) this.site.api.put(object.metadata.namespace === undefined ? nodes : pods, object);
  }

  async begin(): Promise<void> {
    this.site.start(this.site.loopOf(daemonBinding));
    await this.site.settle();
  }

  async run(untilMs: number): Promise<void> {
    await this.site.approach(untilMs);
    await this.site.settle();
  }

  get boards(): Readonly<Record<string, string | undefined>> {
    return Object.fromEntries(this.site.api.all(pods).map(({ metadata, spec }) => [metadata.name, spec?.nodeName]));
  }
}

describe("the leader of a site without a scheduler", () => {
  test("binds a daemon pod to the board that it was made for", async () => {
    const site = new BindingSite();
    site.put(board());
    await site.begin();
    site.put(daemonPod("p"));
    await site.run(100);
    expect(site.boards).toEqual({ p: "n1" });
    expect(site.site.journal.events).toMatchObject([{ reason: "Scheduled" }]);
  });

  test("gives capacity to the older pod, and an Event to the other", async () => {
    const site = new BindingSite();
    site.put(board(), daemonPod("a", { cpu: "600m" }), daemonPod("b", { cpu: "600m" }));
    await site.begin();
    await site.run(60_000);
    expect(site.boards).toEqual({ a: "n1", b: undefined });
    expect(site.site.api.find(pods, "default/b")?.status?.conditions).toMatchObject([
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "Insufficient cpu" },
    ]);
    // Said once, however often it is looked at.
    expect(site.site.journal.writes.filter(({ verb }) => verb === "patch")).toHaveLength(1);
  });

  test("binds a waiting pod as soon as another pod frees its capacity", async () => {
    const site = new BindingSite();
    site.put(board(), daemonPod("a", { cpu: "600m", on: "n1" }), daemonPod("b", { cpu: "600m" }));
    await site.begin();
    expect(site.boards.b).toBeUndefined();
    site.site.api.remove(pods, "default/a");
    await site.run(10);
    expect(site.boards).toEqual({ b: "n1" });
  });

  test("binds a waiting pod as soon as the board itself changes", async () => {
    const site = new BindingSite();
    site.put(board("n1", {}, ["own:NoSchedule"]), daemonPod("p"));
    await site.begin();
    expect(site.boards.p).toBeUndefined();
    site.put(board());
    await site.run(10);
    expect(site.boards.p).toBe("n1");
  });

  test("does not bind twice while the cache is behind", () => {
    const state = {
      node: board(),
      taken: new UsedCapacity(),
      waiting: ["p", "q"].map((name) => waitingPod(daemonPod(name, { cpu: "600m" }), board())),
    };
    const now = { mono: 0, wall: 0 };
    const first = daemonBinding.decide(state, daemonBinding.initialMemory, now);
    const outcomes = first.actions.map((action) => ({ action, ok: true }) as const);
    const after = daemonBinding.decideAfterWrites?.(first, outcomes, now);
    expect(first.actions.filter((action) => action.do === "bind")).toHaveLength(1);
    const second = daemonBinding.decide(state, after?.memory ?? new Set(), now);
    expect(second.actions.filter((action) => action.do === "bind")).toEqual([]);
  });

  test("ignores pods that do not belong to a set of this site, have a scheduling gate, or are terminating", async () => {
    const site = new BindingSite();
    const other = daemonPod("other");
    const set = { ...owner, kind: "ReplicaSet" };
    const [elsewhere, former] = [daemonPod("elsewhere"), daemonPod("former")];
    const going = daemonPod("going");
    site.put(
      board(),
      { ...other, metadata: { ...other.metadata, ownerReferences: [set] } },
      { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: "another-site" } },
      { ...former, metadata: { ...former.metadata, ownerReferences: [{ ...owner, uid: "uid-former" }] } },
      daemonPod("gated", { spec: { schedulingGates: [{ name: "wait" }] } }),
      { ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
    );
    await site.begin();
    await site.run(60_000);
    expect(site.site.journal.writes).toEqual([]);
  });

  test("leaves the pods of a set that names another scheduler to that scheduler", async () => {
    const site = new BindingSite("batch-scheduler");
    site.put(board(), daemonPod("p"));
    await site.begin();
    await site.run(60_000);
    expect(site.boards).toEqual({ p: undefined });
  });

  test("does not bind a pod to a board without a Node", async () => {
    const site = new BindingSite();
    site.put(daemonPod("p"));
    await site.begin();
    await site.run(60_000);
    expect(site.site.journal.writes).toEqual([]);
    site.put(board());
    await site.run(60_010);
    expect(site.boards.p).toBe("n1");
  });
});
