import { afterEach, beforeEach, expect, test } from "vitest";
import { noopLogger } from "../../../agent/base/logger.ts";
import { SiteClient } from "../../../simulator/client/site-client.ts";
import { Kubelet, kubeletDefaults } from "../../../simulator/cluster/kubelet.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { type Collection, SiteInMemory, SiteLink } from "../site-in-memory.ts";

const random = new SeededRandom();
let clock: FakeClock;
let api: SiteInMemory;
let link: SiteLink;
let power: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new SiteInMemory({ clock, random, log: noopLogger });
  link = new SiteLink(api.exchange);
  powerOn();
});

afterEach(async () => {
  power.abort();
  await running;
  api.close();
  await clock.settle();
  expect(clock.timers).toBe(0);
});

function powerOn(): void {
  const ambient = { clock, random, log: noopLogger };
  const client = new SiteClient(ambient, { exchange: link.exchange, timeout: 10_000, userAgent: "test" });
  const board = { name: "pi-1", zone: "zone-a", number: 1 };
  power = new AbortController();
  running = new Kubelet(ambient, { client, board, settings: kubeletDefaults }).run(power.signal);
}

async function powerOff(): Promise<void> {
  power.abort();
  await running;
}

test("a simulated kubelet registers its board with labels, zone and a whole status", async () => {
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

test("a simulated kubelet renews its Lease every ten seconds", async () => {
  await clock.advance("2s");
  const first = api.read("leases", "pi-1")?.metadata.resourceVersion;
  await clock.advance("7s");
  expect(api.read("leases", "pi-1")?.metadata.resourceVersion).toBe(first);
  await clock.advance("3s");
  expect(api.read("leases", "pi-1")?.metadata.resourceVersion).not.toBe(first);
  expect(api.read("leases", "pi-1")?.spec).toMatchObject({ holderIdentity: "pi-1", leaseDurationSeconds: 40 });
});

test("a simulated kubelet posts its status every five minutes, and otherwise only when it shows a problem", async () => {
  await clock.advance("4m50s");
  expect(posts()).toBe(1);
  await clock.advance("20s");
  expect(posts()).toBe(2);
  misjudge();
  await clock.advance("10s");
  expect(conditions("nodes", "pi-1").Ready).toBe("True");
  expect(posts()).toBe(3);
});

test("a pod that is bound to a board starts, is ready, and stops cleanly when it is deleted", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.settle();
  expect(api.read("pods", "web-1")?.status).toMatchObject({ phase: "Pending", hostIP: "192.0.2.1" });
  expect(conditions("pods", "web-1").Ready).toBe("False");
  await clock.advance("1s");
  expect(api.read("pods", "web-1")?.status).toMatchObject({ phase: "Running", podIP: "10.244.1.2" });
  expect(conditions("pods", "web-1").Ready).toBe("True");

  api.delete("pods", "web-1");
  await clock.advance("900ms");
  expect(api.read("pods", "web-1")).toBeDefined();
  await clock.advance("100ms");
  expect(api.read("pods", "web-1")).toBeUndefined();
});

test("two pods never share an address, and a freed address is used again", async () => {
  await clock.advance("1s");
  for (const name of ["a", "b"]) bound(name);
  await clock.advance("2s");
  expect(ips()).toEqual(["10.244.1.2", "10.244.1.3"]);
  api.delete("pods", "a");
  await clock.advance("2s");
  bound("c");
  await clock.advance("2s");
  expect(ips()).toEqual(["10.244.1.2", "10.244.1.3"]);
});

test("a cut board continues to run its pods, and reports them as soon as it is connected again", async () => {
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

test("a pod that was deleted while the board was cut ends once the board is connected", async () => {
  await clock.advance("1s");
  bound("web-1");
  await clock.advance("2s");
  link.isCut = true;
  api.delete("pods", "web-1");
  await clock.advance("5m");
  expect(api.read("pods", "web-1")).toBeDefined();
  link.restore();
  await clock.advance("15s");
  expect(api.read("pods", "web-1")).toBeUndefined();
});

test("a board without power sends nothing; once it has power again it restarts its pods", async () => {
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

test("a Node that is deleted stays deleted until the board starts again", async () => {
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

/** What node lifecycle writes about a board that it does not hear. */
const misjudge = (): void =>
  api.write("nodes", "pi-1", (node) => {
    node.status = { ...node.status, conditions: [{ type: "Ready", status: "Unknown" }] };
  });

const markNotReady = (name: string): void =>
  api.write("pods", name, (pod) => {
    pod.status = { ...pod.status, conditions: [{ type: "Ready", status: "False" }] };
  });

function conditions(collection: Collection, name: string): Record<string, string> {
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
  api
    .all("pods")
    .map(({ status }) => status?.podIP)
    .sort();
