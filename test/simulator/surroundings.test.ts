import { afterEach, beforeEach, expect, test } from "vitest";
import { nodes, pods, replicaSets } from "../../agent/api/resources.ts";
import { TaskGroup } from "../../agent/base/concurrency/tasks.ts";
import { noopLogger } from "../../agent/base/logger.ts";
import { Mirror } from "../../simulator/client/mirror.ts";
import { SiteClient } from "../../simulator/client/site-client.ts";
import { Collector } from "../../simulator/cluster/collector.ts";
import { Scheduler } from "../../simulator/cluster/scheduler.ts";
import { type Workload, WorkloadKeeper } from "../../simulator/cluster/workloads.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SiteInMemory, SiteLink } from "./site-in-memory.ts";

let clock: FakeClock;
let api: SiteInMemory;
let link: SiteLink;
let tasks: TaskGroup;

beforeEach(() => {
  clock = new FakeClock();
  api = new SiteInMemory(ambient());
  link = new SiteLink(api.exchange);
  tasks = new TaskGroup();
});

afterEach(async () => {
  tasks.stop();
  await tasks.join();
  api.close();
  await clock.settle();
  expect(clock.timers).toBe(0);
});

const ambient = () => ({ clock, random: new SeededRandom(), log: noopLogger });

function start(...workloads: Workload[]): void {
  const client = new SiteClient(ambient(), { exchange: link.exchange, timeout: 10_000, userAgent: "test" });
  const mirrors = {
    nodes: new Mirror(ambient(), { client, resource: nodes }),
    pods: new Mirror(ambient(), { client, resource: pods }),
    replicaSets: new Mirror(ambient(), { client, resource: replicaSets }),
  };
  tasks.start("nodes", (signal) => mirrors.nodes.run(signal));
  tasks.start("pods", (signal) => mirrors.pods.run(signal));
  tasks.start("replica sets", (signal) => mirrors.replicaSets.run(signal));
  tasks.start("scheduler", (signal) => new Scheduler(ambient(), { client, ...mirrors }).run(signal));
  const keeper = new WorkloadKeeper(ambient(), { client, ...mirrors, workloads });
  tasks.start("workloads", (signal) => keeper.run(signal));
  const known = {
    owners: [{ resource: replicaSets, mirror: mirrors.replicaSets }],
    dependents: [{ resource: pods, mirror: mirrors.pods }],
  };
  tasks.start("collector", (signal) => new Collector(ambient(), { client, ...known }).run(signal));
}

const main = { name: "main", image: "x" };
const web: Workload = { name: "web", replicas: 4, toleration: 5000, zone: undefined };

test("the pods of a workload are created and spread over the boards", async () => {
  board("pi-1");
  board("pi-2");
  start(web);
  await clock.advance("1s");
  expect(placed()).toEqual({ "pi-1": 2, "pi-2": 2 });
});

test("a pod that is being deleted is replaced immediately, on a board that accepts it", async () => {
  board("pi-1");
  board("pi-2");
  start(web);
  await clock.advance("1s");
  api.write("nodes", "pi-1", (node) => {
    node.spec = { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoSchedule" }] };
  });
  for (const { metadata, spec } of api.all("pods")) if (spec?.nodeName === "pi-1") api.delete("pods", metadata.name);
  await clock.advance("1s");
  expect(placed()).toEqual({ "pi-1": 2, "pi-2": 4 });
});

test("pods that the cache does not show yet are not created twice", async () => {
  board("pi-1");
  start(web);
  await clock.advance("1s");
  expect(podNames()).toHaveLength(4);
  await clock.advance("10m");
  expect(podNames()).toHaveLength(4);
});

test("a pod deleted before it was seen is eventually created again", async () => {
  start(web);
  await clock.settle();
  for (const name of podNames()) api.remove("pods", name);
  await clock.advance("30s");
  expect(podNames()).toHaveLength(4);
});

test("pods that do not fit any board wait, with a reason, and a new board gets them", async () => {
  start({ ...web, zone: "zone-b" });
  board("pi-1", "zone-a");
  await clock.advance("1s");
  expect(placed()).toEqual({});
  const [waiting] = podNames();
  expect(api.read("pods", waiting ?? "")?.status?.conditions).toMatchObject([
    { type: "PodScheduled", status: "False", message: "none of 1 boards fits: 1 not selected by the pod" },
  ]);
  const before = api.requests.length;
  await clock.advance("5m");
  expect(api.requests.slice(before).filter((request) => request.startsWith("PATCH"))).toEqual([]);

  board("pi-2", "zone-b");
  await clock.advance("1s");
  expect(placed()).toEqual({ "pi-2": 4 });
});

test("a workload is a ReplicaSet that owns its pods, and counts them", async () => {
  board("pi-1");
  start(web);
  await clock.advance("1s");
  const set = api.read("replicasets", "web");
  expect(set?.spec).toMatchObject({ replicas: 4, selector: { matchLabels: { app: "web" } } });
  expect(set?.status).toMatchObject({ replicas: 4, fullyLabeledReplicas: 4 });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: set?.metadata.uid, controller: true };
  for (const name of podNames()) {
    expect(api.read("pods", name)?.metadata.ownerReferences).toEqual([{ ...owner, blockOwnerDeletion: true }]);
  }
  for (const name of podNames().slice(0, 3)) ready(name);
  await clock.advance("1s");
  expect(api.read("replicasets", "web")?.status).toMatchObject({ replicas: 4, readyReplicas: 3, availableReplicas: 3 });
});

test("when a person scales a workload down, pods without readiness are deleted first", async () => {
  board("pi-1");
  start(web);
  await clock.advance("1s");
  const [first, second] = podNames();
  for (const name of [first, second]) ready(name ?? "");
  await clock.advance("1s");
  api.write("replicasets", "web", (set) => Object.assign(set.spec ?? {}, { replicas: 2 }));
  await clock.advance("1s");
  const left = podNames().filter((name) => api.read("pods", name)?.metadata.deletionTimestamp === undefined);
  expect(left).toEqual([first, second]);
  expect(api.read("replicasets", "web")?.status).toMatchObject({ replicas: 2, readyReplicas: 2 });
});

test("when a person deletes a workload, its pods are deleted, other pods are kept, and it is not created again", async () => {
  board("pi-1");
  start(web);
  await clock.advance("1s");
  api.create("pods", {
    metadata: { name: "loose", namespace: "default" },
    spec: { nodeName: "pi-1", containers: [main] },
  });
  api.remove("replicasets", "web");
  await clock.advance("1m");
  const left = podNames().filter((name) => api.read("pods", name)?.metadata.deletionTimestamp === undefined);
  expect(left).toEqual(["loose"]);
  expect(api.read("replicasets", "web")).toBeUndefined();
});

test("a person's own ReplicaSet is maintained as well, and an existing one is changed to the requested form", async () => {
  board("pi-1");
  for (const [name, replicas] of [
    ["own", 2],
    ["web", 9],
  ] as const) {
    const labels = { app: name, "siteward.dev/workload": name };
    const template = { metadata: { labels }, spec: { containers: [main] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    api.create("replicasets", { metadata: { name, namespace: "default" }, spec });
  }
  start(web);
  await clock.advance("5s");
  expect(podNames().filter((name) => name.startsWith("own-"))).toHaveLength(2);
  const kept = podNames().filter((name) => api.read("pods", name)?.metadata.deletionTimestamp === undefined);
  expect(kept.filter((name) => name.startsWith("web-"))).toHaveLength(4);
});

test("an API that does not respond for a while is waited for", async () => {
  board("pi-1");
  link.isCut = true;
  start(web);
  await clock.advance("5m");
  link.restore();
  await clock.advance("30s");
  expect(placed()).toEqual({ "pi-1": 4 });
});

/** Without the taint that the API server puts on every new Node. */
function board(name: string, zone = "zone-a"): void {
  api.create("nodes", { metadata: { name, labels: { "topology.kubernetes.io/zone": zone } } });
  api.write("nodes", name, (node) => {
    node.spec = {};
  });
}

const ready = (name: string): unknown =>
  api.write("pods", name, (pod) => {
    pod.status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  });

const podNames = (): string[] => api.all("pods").map(({ metadata }) => metadata.name);

function placed(): Record<string, number> {
  const count: Record<string, number> = {};
  for (const { spec } of api.all("pods")) {
    if (spec?.nodeName) count[String(spec.nodeName)] = (count[String(spec.nodeName)] ?? 0) + 1;
  }
  return count;
}
