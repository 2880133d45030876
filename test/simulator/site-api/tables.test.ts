import { describe, expect, test } from "vitest";
import { itemsAt, type JsonObject, valueAt } from "../../../agent/api/json.ts";
import { configMap, configMaps, merge, node, pod, pods, row, TestSite, table } from "./site.ts";

test("a table has columns, rows, and the object's metadata with each row", async () => {
  await using site = new TestSite();
  await site.create(configMaps, configMap("a", {}, { x: "1", y: "2" }));
  const { body } = await site.get(configMaps, table);
  expect(body).toMatchObject({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: "5" },
    columnDefinitions: [
      { name: "Name", type: "string", format: "name", priority: 0 },
      { name: "Data", type: "string", format: "", priority: 0 },
      { name: "Age", type: "string", format: "", priority: 0 },
    ],
    rows: [{ cells: ["a", 2, "0s"], object: { kind: "PartialObjectMetadata", metadata: { name: "a" } } }],
  });
  expect(valueAt(body, "rows")).not.toHaveProperty("0.object.data");
  expect((await site.get(`${configMaps}?includeObject=Object`, table)).body).toMatchObject({
    rows: [{ object: { kind: "ConfigMap", apiVersion: "v1", data: { x: "1" } } }],
  });
  expect((await site.get(`${configMaps}?includeObject=None`, table)).body).toMatchObject({ rows: [{ object: null }] });
  expect((await site.get(`${configMaps}?includeObject=Much`, table)).status).toBe(400);
  expect((await site.get(`${configMaps}/a`, table)).body).toMatchObject({
    kind: "Table",
    rows: [{ cells: ["a", 2, "0s"] }],
  });
});

test("a table is read in pages too", async () => {
  await using site = new TestSite();
  for (const name of ["a", "b", "c"]) await site.create(configMaps, configMap(name));
  const { body } = await site.get(`${configMaps}?limit=2`, table);
  expect(body).toMatchObject({ metadata: { continue: expect.any(String), remainingItemCount: 1 } });
  expect(itemsAt(body, "rows")).toHaveLength(2);
});

test.each([
  ["0s", "0s"],
  ["119s", "119s"],
  ["2m", "2m"],
  ["2m5s", "2m5s"],
  ["9m59s", "9m59s"],
  ["10m30s", "10m"],
  ["2h59m", "179m"],
  ["3h", "3h"],
  ["7h59m", "7h59m"],
  ["47h", "47h"],
  ["2d", "2d"],
  ["7d23h", "7d23h"],
  ["8d1h", "8d"],
  ["729d", "729d"],
  ["800d", "2y70d"],
  ["4000d", "10y"],
])("after %s the age is %s", async (passed, age) => {
  await using site = new TestSite();
  await site.create(configMaps, configMap("a"));
  await site.clock.advance(passed);
  expect((await row(site, configMaps)).Age).toBe(age);
});

describe("nodes", () => {
  const nodes = "/api/v1/nodes";
  test("show whether they are ready and accept pods, and in wide tables their addresses and versions", async () => {
    await using site = new TestSite();
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      nodeInfo: {
        kubeletVersion: "v1.36.0",
        osImage: "Debian",
        kernelVersion: "6.12",
        architecture: "arm64",
        containerRuntimeVersion: "containerd://2",
      },
    };
    await site.create(nodes, {
      ...node("n1", { status }),
      metadata: { name: "n1", labels: { "node-role.kubernetes.io/edge": "" } },
    });
    expect(await row(site, nodes)).toEqual({
      Name: "n1",
      Status: "Ready",
      Roles: "edge",
      Age: "0s",
      Version: "v1.36.0",
      "Internal-IP": "10.0.0.1",
      "External-IP": "<none>",
      "OS-Image": "Debian",
      "Kernel-Version": "6.12 (arm64)",
      "Container-Runtime": "containerd://2",
    });
    const lost = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
    await site.ask("PATCH", `${nodes}/n1/status`, lost, { type: merge });
    await site.ask("PATCH", `${nodes}/n1`, { spec: { unschedulable: true } }, { type: merge });
    expect((await row(site, nodes)).Status).toBe("NotReady,SchedulingDisabled");
  });

  test("that have never reported are unknown", async () => {
    await using site = new TestSite();
    await site.create(nodes, node("n1"));
    expect(await row(site, nodes)).toMatchObject({ Status: "Unknown", Roles: "<none>", Version: "" });
  });
});

describe("pods", () => {
  const container = (name: string, more: JsonObject): JsonObject => ({ name, restartCount: 0, ready: false, ...more });
  const up = { ready: true, state: { running: {} } };
  const cases: readonly [string, JsonObject, string, string][] = [
    ["nothing yet", { phase: "Pending" }, "0/2", "Pending"],
    ["both run", { phase: "Running", containerStatuses: [container("a", up), container("b", up)] }, "2/2", "Running"],
    [
      "one waits",
      {
        phase: "Pending",
        containerStatuses: [
          container("a", up),
          container("b", { state: { waiting: { reason: "ContainerCreating" } } }),
        ],
      },
      "1/2",
      "ContainerCreating",
    ],
    [
      "one crashed",
      {
        phase: "Running",
        containerStatuses: [
          container("a", up),
          container("b", { restartCount: 3, state: { waiting: { reason: "CrashLoopBackOff" } } }),
        ],
      },
      "1/2",
      "CrashLoopBackOff",
    ],
    [
      "both ended well",
      {
        phase: "Succeeded",
        containerStatuses: ["a", "b"].map((name) =>
          container(name, { state: { terminated: { exitCode: 0, reason: "Completed" } } }),
        ),
      },
      "0/2",
      "Completed",
    ],
    [
      "one failed",
      {
        phase: "Failed",
        containerStatuses: [
          container("a", { state: { terminated: { exitCode: 1, reason: "Error" } } }),
          container("b", { state: { terminated: { exitCode: 0, reason: "Completed" } } }),
        ],
      },
      "0/2",
      "Error",
    ],
    [
      "one was killed",
      { phase: "Failed", containerStatuses: [container("a", { state: { terminated: { exitCode: 137, signal: 9 } } })] },
      "0/2",
      "Signal:9",
    ],
    ["evicted", { phase: "Failed", reason: "Evicted" }, "0/2", "Evicted"],
    [
      "gated",
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
      "0/2",
      "SchedulingGated",
    ],
    [
      "in preparation",
      { phase: "Pending", initContainerStatuses: [container("i", { state: { running: {} } })] },
      "0/2",
      "Init:0/1",
    ],
    [
      "badly prepared",
      { phase: "Pending", initContainerStatuses: [container("i", { state: { terminated: { exitCode: 2 } } })] },
      "0/2",
      "Init:ExitCode:2",
    ],
  ];

  test.each(cases)("%s", async (_, status, ready, word) => {
    await using site = new TestSite();
    const containers = ["a", "b"].map((name) => ({ name, image: "i" }));
    await site.create(pods, pod("a", { nodeName: "n1", containers, initContainers: [{ name: "i", image: "i" }] }));
    await site.ask("PATCH", `${pods}/a/status`, { status }, { type: merge });
    expect(await row(site, pods)).toMatchObject({ Ready: ready, Status: word, Node: "n1", IP: "<none>" });
  });

  test("being deleted are terminating, and those lost with their board are unknown", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("a", { nodeName: "n1" }));
    await site.ask("DELETE", `${pods}/a`);
    expect((await row(site, pods)).Status).toBe("Terminating");
    await site.ask("PATCH", `${pods}/a/status`, { status: { reason: "NodeLost" } }, { type: merge });
    expect((await row(site, pods)).Status).toBe("Unknown");
  });

  test("show how often and when they were last restarted", async () => {
    await using site = new TestSite();
    await site.create(pods, pod("a", { nodeName: "n1" }));
    const ended = { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:00:00Z" } };
    await site.ask(
      "PATCH",
      `${pods}/a/status`,
      {
        status: {
          phase: "Running",
          containerStatuses: [{ ...container("main", up), restartCount: 4, lastState: ended }],
        },
      },
      { type: merge },
    );
    await site.clock.advance("5m");
    expect((await row(site, pods)).Restarts).toBe("4 (5m ago)");
  });
});

test("events, leases, services and sets have their own columns", async () => {
  await using site = new TestSite();
  const at = (group: string, plural: string): string => `/${group}/namespaces/default/${plural}`;
  await site.create(at("api/v1", "events"), {
    metadata: { name: "e" },
    involvedObject: { kind: "Pod", namespace: "default", name: "a" },
    reason: "Killing",
    message: "Stopping ",
    type: "Normal",
    count: 3,
    firstTimestamp: "2025-12-31T23:59:00Z",
    lastTimestamp: "2025-12-31T23:59:50Z",
    source: { component: "kubelet", host: "n1" },
  });
  expect(await row(site, at("api/v1", "events"))).toEqual({
    "Last Seen": "10s",
    Type: "Normal",
    Reason: "Killing",
    Object: "pod/a",
    Subobject: "",
    Source: "kubelet, n1",
    Message: "Stopping",
    "First Seen": "60s",
    Count: 3,
    Name: "e",
  });
  await site.create(at("apis/coordination.k8s.io/v1", "leases"), {
    metadata: { name: "l" },
    spec: { holderIdentity: "pi-1" },
  });
  expect(await row(site, at("apis/coordination.k8s.io/v1", "leases"))).toEqual({
    Name: "l",
    Holder: "pi-1",
    Age: "0s",
  });
  await site.create(at("api/v1", "services"), {
    metadata: { name: "s" },
    spec: { ports: [{ port: 53, protocol: "UDP" }], selector: { app: "dns" } },
  });
  expect(await row(site, at("api/v1", "services"))).toMatchObject({
    Type: "ClusterIP",
    "External-IP": "<none>",
    "Port(s)": "53/UDP",
    Selector: "app=dns",
  });
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { nodeSelector: { disk: "ssd" }, containers: [{ name: "c", image: "i" }] },
  };
  await site.create(at("apis/apps/v1", "daemonsets"), {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  });
  expect(await row(site, at("apis/apps/v1", "daemonsets"))).toMatchObject({
    Desired: 0,
    "Node Selector": "disk=ssd",
    Containers: "c",
    Images: "i",
    Selector: "a=b",
  });
  await site.create(at("apis/discovery.k8s.io/v1", "endpointslices"), {
    metadata: { name: "e" },
    addressType: "IPv4",
    endpoints: [1, 2, 3, 4, 5].map((i) => ({ addresses: [`10.0.0.${i}`] })),
    ports: [{ port: 80 }],
  });
  expect(await row(site, at("apis/discovery.k8s.io/v1", "endpointslices"))).toMatchObject({
    Ports: "80",
    Endpoints: "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...",
  });
});
