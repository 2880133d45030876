import { afterEach, beforeEach, expect, test } from "vitest";
import { silent } from "../../agent/base/logger.ts";
import { Kubelet, kubeletDefaults } from "../../simulator/kubelet.ts";
import { SiteClient } from "../../simulator/site-client.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { ToyApi, ToyLink } from "./toy-api.ts";

const random = new SeededRandom();
let clock: FakeClock;
let api: ToyApi;
let link: ToyLink;
let power: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new ToyApi();
  link = new ToyLink(api.exchange);
  powerOn();
});

afterEach(async () => {
  power.abort();
  await running;
  expect(clock.timers).toBe(0);
});

function powerOn(): void {
  const ambient = { clock, random, log: silent };
  const client = new SiteClient(ambient, { exchange: link.exchange, timeout: 10_000, userAgent: "test" });
  const board = { name: "pi-1", zone: "zone-a", number: 1 };
  power = new AbortController();
  running = new Kubelet(ambient, { client, board, settings: kubeletDefaults }).run(power.signal);
}

async function powerOff(): Promise<void> {
  power.abort();
  await running;
}

test("a board registers with its labels, its zone and a whole status", async () => {
  await clock.advance("1s");
  const node = api.read("nodes", "pi-1");
  expect(node?.metadata.labels).toEqual({
    "kubernetes.io/hostname": "pi-1",
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "arm64",
    "topology.kubernetes.io/zone": "zone-a",
  });
  expect(conditions("nodes", "pi-1")).toEqual({
    MemoryPressure: "False",
    DiskPressure: "False",
    PIDPressure: "False",
    Ready: "True",
  });
  expect(node?.status?.capacity).toMatchObject({ cpu: "4", pods: "110" });
});

test("its Lease is renewed every ten seconds", async () => {
  await clock.advance("2s");
  const first = api.read("leases", "pi-1")?.metadata.resourceVersion;
  await clock.advance("7s");
  expect(api.read("leases", "pi-1")?.metadata.resourceVersion).toBe(first);
  await clock.advance("3s");
  expect(api.read("leases", "pi-1")?.metadata.resourceVersion).not.toBe(first);
  expect(api.read("leases", "pi-1")?.spec).toMatchObject({ holderIdentity: "pi-1", leaseDurationSeconds: 40 });
});

test("its status is posted every five minutes, and otherwise only when it shows something wrong", async () => {
  await clock.advance("4m50s");
  expect(posts()).toBe(1);
  await clock.advance("20s");
  expect(posts()).toBe(2);
  misjudge();
  await clock.advance("10s");
  expect(conditions("nodes", "pi-1").Ready).toBe("True");
  expect(posts()).toBe(3);
});

test("a pod that is bound to it starts, is ready, and leaves in good order when it is deleted", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.settle();
  expect(api.read("pods", "web-1")?.status).toMatchObject({ phase: "Pending", hostIP: "192.0.2.1" });
  expect(conditions("pods", "web-1").Ready).toBe("False");
  await clock.advance("1s");
  expect(api.read("pods", "web-1")?.status).toMatchObject({ phase: "Running", podIP: "10.244.1.2" });
  expect(conditions("pods", "web-1").Ready).toBe("True");

  remove("web-1");
  await clock.advance("900ms");
  expect(api.read("pods", "web-1")).toBeDefined();
  await clock.advance("100ms");
  expect(api.read("pods", "web-1")).toBeUndefined();
});

test("two pods never share an address, and an address that became free is used again", async () => {
  await clock.advance("1s");
  for (const name of ["a", "b"]) bound(name);
  await clock.advance("2s");
  expect(ips()).toEqual(["10.244.1.2", "10.244.1.3"]);
  remove("a");
  await clock.advance("2s");
  bound("c");
  await clock.advance("2s");
  expect(ips()).toEqual(["10.244.1.2", "10.244.1.3"]);
});

test("a cut board goes on running its pods, and says so as soon as it is heard again", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.advance("2s");
  link.isCut = true;
  await clock.advance("1m");
  misjudge();
  markNotReady("web-1");
  await clock.advance("1m");
  expect(conditions("nodes", "pi-1").Ready).toBe("Unknown");

  link.restore();
  await clock.advance("11s");
  expect(conditions("nodes", "pi-1").Ready).toBe("True");
  expect(conditions("pods", "web-1").Ready).toBe("True");
  expect(restarts("web-1")).toBe(0);
});

test("a pod that was deleted while the board was cut leaves once the board hears of it", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.advance("2s");
  link.isCut = true;
  remove("web-1");
  await clock.advance("5m");
  expect(api.read("pods", "web-1")).toBeDefined();
  link.restore();
  await clock.advance("15s");
  expect(api.read("pods", "web-1")).toBeUndefined();
});

test("a board without power says nothing; with power again it starts its pods anew", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.advance("2s");
  const boot = bootId();
  await powerOff();
  const said = api.requests.length;
  await clock.advance("10m");
  expect(api.requests).toHaveLength(said);

  misjudge();
  powerOn();
  await clock.advance("3s");
  expect(conditions("nodes", "pi-1").Ready).toBe("True");
  expect(conditions("pods", "web-1").Ready).toBe("True");
  expect(restarts("web-1")).toBe(1);
  expect(bootId()).toBeDefined();
  expect(bootId()).not.toBe(boot);
  expect(ips()).toEqual(["10.244.1.2"]);
});

test("a Node that somebody deletes stays deleted until the board starts again", async () => {
  await clock.advance("1s");
  api.remove("nodes", "pi-1");
  await clock.advance("10m");
  expect(api.read("nodes", "pi-1")).toBeUndefined();
  await powerOff();
  powerOn();
  await clock.advance("1s");
  expect(api.read("nodes", "pi-1")).toBeDefined();
});

function bound(name: string): void {
  api.create("pods", {
    metadata: { name, namespace: "default" },
    spec: { nodeName: "pi-1", containers: [{ name: "main", image: "web" }] },
  });
}

function remove(name: string): void {
  api.write("pods", name, ({ metadata }) =>
    Object.assign(metadata, { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 }),
  );
}

/** What node lifecycle writes about a board that it does not hear. */
const misjudge = (): void =>
  api.write("nodes", "pi-1", (node) => {
    node.status = { ...node.status, conditions: [{ type: "Ready", status: "Unknown" }] };
  });

const markNotReady = (name: string): void =>
  api.write("pods", name, (pod) => {
    pod.status = { ...pod.status, conditions: [{ type: "Ready", status: "False" }] };
  });

function conditions(collection: string, name: string): Record<string, string> {
  const known = api.read(collection, name)?.status?.conditions as { type: string; status: string }[] | undefined;
  return Object.fromEntries((known ?? []).map(({ type, status }) => [type, status]));
}

const posts = (): number => api.requests.filter((request) => request === "PATCH /api/v1/nodes/pi-1/status").length;

const bootId = (): string | undefined =>
  (api.read("nodes", "pi-1")?.status?.nodeInfo as { bootID: string } | undefined)?.bootID;

function restarts(name: string): number | undefined {
  const [container] = (api.read("pods", name)?.status?.containerStatuses ?? []) as { restartCount: number }[];
  return container?.restartCount;
}

const ips = (): unknown[] =>
  [...api.objects]
    .filter(([key]) => key.startsWith("pods/"))
    .map(([, pod]) => pod.status?.podIP)
    .sort();
