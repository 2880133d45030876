import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../../agent/api/core.ts";
import { pinned } from "../../../../agent/api/node-affinity.ts";
import { daemonSets, nodes, pods } from "../../../../agent/api/resources.ts";
import { daemonBinding } from "../../../../agent/controllers/daemon-binding/controller.ts";
import { nothingTaken, refusals, takenWith } from "../../../../agent/controllers/daemon-binding/fit.ts";
import { needsOf } from "../../../../agent/controllers/daemon-binding/pod-needs.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";
import { node, pod, taint } from "../../../support/builders.ts";

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
      affinity: pinned(undefined, "n1"),
      ...(on !== undefined && { nodeName: on }),
      ...spec,
    },
    status: { phase: on === undefined ? "Pending" : "Running" },
  };
}

describe("a board", () => {
  const full = (...running: readonly Pod[]) => running.reduce((all, one) => takenWith(all, needsOf(one)), nothingTaken);

  test.each<[string, Pod, Node, readonly Pod[], readonly string[]]>([
    ["takes what fits exactly", daemonPod("p", { cpu: "400m" }), board(), [daemonPod("o", { cpu: "600m" })], []],
    [
      "takes no thousandth more",
      daemonPod("p", { cpu: "401m" }),
      board(),
      [daemonPod("o", { cpu: "600m" })],
      ["Insufficient cpu"],
    ],
    ["takes what asks for nothing, however full it is", daemonPod("p"), board(), [daemonPod("o", { cpu: "5" })], []],
    ["has none of what it never had", daemonPod("p", { gpu: "1" }), board(), [], ["Insufficient example.com/gpu"]],
    ["has one of what it has", daemonPod("p", { gpu: "1" }), board("n1", { "example.com/gpu": "1" }), [], []],
    [
      "has it once",
      daemonPod("p", { gpu: "1" }),
      board("n1", { "example.com/gpu": "1" }),
      [daemonPod("o", { gpu: "1" })],
      ["Insufficient example.com/gpu"],
    ],
    [
      "gives a port once",
      daemonPod("p", { port: 80 }),
      board(),
      [daemonPod("o", { port: 80 })],
      ["node didn't have free ports for the requested pod ports"],
    ],
    ["gives another port too", daemonPod("p", { port: 80 }), board(), [daemonPod("o", { port: 81 })], []],
    ["has room for the last pod", daemonPod("p"), board("n1", { pods: "2" }), [daemonPod("o")], []],
    ["has no room for one more", daemonPod("p"), board("n1", { pods: "1" }), [daemonPod("o")], ["Too many pods"]],
    [
      "keeps away what does not tolerate it",
      daemonPod("p"),
      board("n1", {}, ["own=x:NoSchedule"]),
      [],
      ["node had untolerated taint(s) {own: x}"],
    ],
    ["may prefer to be left alone", daemonPod("p"), board("n1", {}, ["own=x:PreferNoSchedule"]), [], []],
    [
      "takes what tolerates it",
      daemonPod("p", { spec: { tolerations: [{ operator: "Exists" }] } }),
      board("n1", {}, ["own=x:NoSchedule"]),
      [],
      [],
    ],
    ["takes only what is for it", daemonPod("p"), board("n2"), [], ["node didn't match Pod's node affinity/selector"]],
    [
      "says all that is wrong",
      daemonPod("p", { cpu: "2" }),
      board("n1", { pods: "0" }),
      [],
      ["Too many pods", "Insufficient cpu"],
    ],
  ])("%s", (_, wanted, there, running, why) => {
    expect(refusals(wanted, there, full(...running))).toEqual(why);
  });
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

  test("promises the same room once: the older pod gets it, the other one is told why", async () => {
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

  test("binds it as soon as another pod makes room", async () => {
    const site = new BindingSite();
    site.put(board(), daemonPod("a", { cpu: "600m", on: "n1" }), daemonPod("b", { cpu: "600m" }));
    await site.begin();
    expect(site.boards.b).toBeUndefined();
    site.site.api.remove(pods, "default/a");
    await site.run(10);
    expect(site.boards).toEqual({ b: "n1" });
  });

  test("or as the board itself changes", async () => {
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
      taken: nothingTaken,
      waiting: [daemonPod("p", { cpu: "600m" }), daemonPod("q", { cpu: "600m" })],
    };
    const now = { mono: 0, wall: 0 };
    const first = daemonBinding.decide(state, daemonBinding.initialMemory, now);
    const outcomes = first.actions.map((action) => ({ action, ok: true }) as const);
    const after = daemonBinding.remember?.(first, outcomes, now);
    expect(first.actions.filter((action) => action.do === "bind")).toHaveLength(1);
    const second = daemonBinding.decide(state, after?.memory ?? new Set(), now);
    expect(second.actions.filter((action) => action.do === "bind")).toEqual([]);
  });

  test("leaves alone what is no pod of a set of this site, is held by a gate, or on its way out", async () => {
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

  test("leaves the pods of a set that names another scheduler to that one", async () => {
    const site = new BindingSite("batch-scheduler");
    site.put(board(), daemonPod("p"));
    await site.begin();
    await site.run(60_000);
    expect(site.boards).toEqual({ p: undefined });
  });

  test("a board that nobody knows gets nothing", async () => {
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
