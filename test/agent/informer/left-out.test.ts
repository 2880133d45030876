import { afterEach, beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource, services } from "../../../agent/api/resources.ts";
import { InformerSet } from "../../../agent/informer/informer-set.ts";
import type { Database } from "../../../storage/database/database.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { limits, openCache } from "./cache.ts";
import { FakeApi } from "./fake-api.ts";
import { lease, node, pod } from "./objects.ts";

const [KiB, MiB] = [1024, 2 ** 20];

let clock: FakeClock;
let api: FakeApi;
let database: Database;
let disk: { size: number; free: number };
let set: InformerSet;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeApi(clock);
  database = openCache();
  // Large objects: 2 MiB per namespace.
  disk = { size: 32 * MiB, free: 30 * MiB };
});
afterEach(() => end());

async function start(): Promise<void> {
  const settings = { pageSize: 500, deltasPerObject: 16, decodedBytes: 1_000_000, limits };
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(3) };
  set = new InformerSet(ambient, { client: api, database, settings, scope: {}, disk: () => disk });
  for (const resource of [nodes, pods, leases, services]) set.informer<KubeObject>(resource);
  stop = new AbortController();
  running = set.run(stop.signal);
  await clock.advance("1s");
}

async function end(): Promise<void> {
  stop.abort(new Error("stopped"));
  await clock.settle();
  await running;
}

const names = (resource: Resource<KubeObject>): readonly string[] =>
  [...set.informer(resource).lister.list()].map(({ metadata }) => metadata.name);

let version = 1000;
/** A service of about this many bytes. */
const service = (name: string, bytes: number, uid = name): KubeObject & { readonly spec: object } => ({
  kind: "Service",
  metadata: { name, namespace: "tenant", uid, resourceVersion: String(++version) },
  spec: { selector: { app: "x".repeat(bytes) } },
});

function put(name: string, bytes: number, uid?: string): void {
  api.put(services, service(name, bytes, uid));
}

/** The reasons that the status shows. */
const reasons = (): readonly string[] =>
  set.stats().find(({ resource }) => resource === "services")?.rejected.last ?? [];

const sizeOf = (name: string): number => {
  const found = set.informer(services).lister.get(`tenant/${name}`);
  return found === undefined ? 0 : JSON.stringify(found).length;
};

const listsOf = (kind: string): number => api.asked("list").filter(({ resource }) => resource === kind).length;

test("large services above the share of their namespace are left out, named, and read again once there is room", async () => {
  await start();
  for (let i = 1; i <= 8; i++) put(`web-${i}`, 300 * KiB);
  await clock.advance("1s");
  expect(names(services)).toEqual(["web-1", "web-2", "web-3", "web-4", "web-5", "web-6"]);
  expect(reasons()).toEqual([
    expect.stringMatching(/^Service tenant\/web-7: the large objects .* of namespace tenant .* has room$/),
    expect.stringMatching(/^Service tenant\/web-8: /),
  ]);
  expect(listsOf("services")).toBe(1);
  // Nothing is listed as long as there is no room.
  await clock.advance("5m");
  expect(listsOf("services")).toBe(1);
  api.remove(services, "tenant/web-1");
  await clock.advance("2m");
  expect(listsOf("services")).toBe(2);
  expect(names(services)).toEqual(["web-2", "web-3", "web-4", "web-5", "web-6", "web-7"]);
  expect(reasons()).toEqual([expect.stringMatching(/^Service tenant\/web-8: /)]);
  await clock.advance("10m");
  expect(listsOf("services")).toBe(2);
});

test("what a long watch left out is read again at a bookmark, and not only when the watch ends", async () => {
  await start();
  // Watches are short only if something was left out when they began: this one lasts for at least five minutes.
  for (let i = 1; i <= 7; i++) put(`web-${i}`, 300 * KiB);
  await clock.advance("1s");
  expect(names(services)).toHaveLength(6);
  api.remove(services, "tenant/web-1");
  await clock.advance("70s");
  expect(names(services)).toEqual(["web-2", "web-3", "web-4", "web-5", "web-6", "web-7"]);
  expect(reasons()).toEqual([]);
});

test("a first list stores what fits, and a restart still knows what was left out", async () => {
  for (let i = 1; i <= 8; i++) put(`web-${i}`, 300 * KiB);
  await start();
  expect(names(services)).toHaveLength(6);
  await end();
  await start();
  expect(names(services)).toHaveLength(6);
  expect(reasons()).toHaveLength(2);
  for (const name of ["web-1", "web-2"]) api.remove(services, `tenant/${name}`);
  await clock.advance("3m");
  expect(names(services)).toEqual(["web-3", "web-4", "web-5", "web-6", "web-7", "web-8"]);
  expect(reasons()).toEqual([]);
});

test("a service that has grown too large keeps its last state; one that was recreated is not taken for it", async () => {
  await start();
  put("web", 1000);
  put("other", 1000);
  await clock.advance("1s");
  put("web", 400 * KiB);
  put("other", 400 * KiB, "another");
  await clock.advance("1s");
  expect(names(services)).toEqual(["web"]);
  expect(sizeOf("web")).toBeLessThan(2000);
  expect(reasons()).toEqual([
    expect.stringMatching(/^Service tenant\/web: has more than 393216 bytes$/),
    expect.stringMatching(/^Service tenant\/other: has more than 393216 bytes$/),
  ]);
  put("web", 2000);
  api.remove(services, "tenant/other");
  await clock.advance("1s");
  expect(sizeOf("web")).toBeGreaterThan(2000);
  expect(reasons()).toEqual([]);
});

test("on a disk that is nearly full, boards and pods are stored, and services again once there is room", async () => {
  await start();
  disk.free = 5 * MiB;
  api.put(nodes, node("pi-1"));
  api.put(leases, lease("pi-1"));
  api.put(pods, pod("web-1"));
  put("web", 1000);
  await clock.advance("1s");
  expect([names(nodes), names(leases), names(pods), names(services)]).toEqual([["pi-1"], ["pi-1"], ["web-1"], []]);
  expect(reasons()).toEqual([expect.stringMatching(/less than 8.0 MiB are free/)]);
  // The watch that was open then ends within ten minutes, and each further one after a minute.
  disk.free = 9 * MiB;
  await clock.advance("11m");
  expect(names(services)).toEqual([]);
  disk.free = 11 * MiB;
  await clock.advance("2m");
  expect([names(services), reasons()]).toEqual([["web"], []]);
});
