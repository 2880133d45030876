import { beforeEach, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { leases, nodes, type Resource } from "../../../agent/api/resources.ts";
import { InformerSet } from "../../../agent/informer/informer-set.ts";
import type { SiteScope } from "../../../agent/informer/scope.ts";
import { isLive } from "../../../agent/informer/watch-health.ts";
import type { Database } from "../../../storage/database/database.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { limits, openCache } from "./cache.ts";
import { FakeApi, refused } from "./fake-api.ts";
import { lease, node } from "./objects.ts";

let clock: FakeClock;
let api: FakeApi;
let database: Database;
let stop: AbortController;
let ended: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeApi(clock);
  database = openCache();
});

/** A leader whose heartbeats come by lists, after its first second. */
async function start(scope: SiteScope = {}, pageSize = 500): Promise<InformerSet> {
  const settings = { pageSize, deltasPerObject: 16, decodedBytes: 1_000_000, limits, heartbeats: "list" } as const;
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(3) };
  const set = new InformerSet(ambient, { client: api, database, settings, scope });
  for (const resource of [nodes, leases]) set.informer<KubeObject>(resource);
  stop = new AbortController();
  ended = set.run(stop.signal);
  await clock.advance("1s");
  return set;
}

async function end(): Promise<void> {
  stop.abort(new Error("stopped"));
  await clock.settle();
  await ended;
}

const beat = (...boards: readonly string[]): void => {
  for (const board of boards) api.put(leases, lease(board));
};
const versions = (set: InformerSet): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...set.informer(leases).lister.list()].map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
  );
const notificationsOf = (set: InformerSet, resource: Resource<KubeObject>): string[] => {
  const notified: string[] = [];
  set.informer(resource).onChange((changes) => {
    for (const { key, before, after } of changes)
      notified.push(`${key} ${before === undefined ? "appeared" : after === undefined ? "gone" : "changed"}`);
  });
  return notified;
};

test("renewals appear with the next list of metadata, at most 20 s later, and a Lease is never watched", async () => {
  beat("pi-1", "pi-2");
  const set = await start();
  expect(versions(set)).toEqual({ "pi-1": "101", "pi-2": "102" });
  const before = api.asked("list", "leases.coordination.k8s.io").length;
  for (let round = 0; round < 6; round++) {
    beat("pi-1", "pi-2");
    await clock.advance("10s");
  }
  expect(versions(set)).toEqual({ "pi-1": "113", "pi-2": "114" });
  const lists = api.asked("list", "leases.coordination.k8s.io").slice(before);
  expect(lists).toHaveLength(3);
  for (const { options } of lists)
    expect(options).toMatchObject({ namespace: "kube-node-lease", metadataOnly: true, limit: 500 });
  expect(lists.every(({ options }) => options.resourceVersion === undefined)).toBe(true);
  expect(api.asked("watch", "leases.coordination.k8s.io")).toEqual([]);
  await end();
});

test("a list counts as an event and as proof, even if no board has renewed", async () => {
  beat("pi-1");
  const set = await start();
  api.put(nodes, node("pi-1"));
  await clock.advance("20s");
  const { health } = set.informer(leases);
  expect(isLive(health, limits, clock.now())).toBe(true);
  expect(health.lastProof).toEqual(health.lastReceived);
  expect(set.informer(leases).isCurrent).toBe(true);
  await end();
});

test("a renewal does not cause a write or a notification, but a Lease that appears or disappears does", async () => {
  beat("pi-1", "pi-2");
  const set = await start();
  const notified = notificationsOf(set, leases);
  const changes = (): number => database.prepare<{ n: number }>("SELECT total_changes() AS n").get()?.n ?? 0;
  const before = changes();
  beat("pi-1", "pi-2");
  await clock.advance("20s");
  expect(changes()).toBe(before);
  expect(notified).toEqual([]);
  api.remove(leases, "kube-node-lease/pi-1");
  beat("pi-3");
  await clock.advance("21s");
  expect(notified.sort()).toEqual(["kube-node-lease/pi-1 gone", "kube-node-lease/pi-3 appeared"]);
  expect(Object.keys(versions(set))).toEqual(["pi-2", "pi-3"]);
  await end();
});

test("a Lease deleted while the agent was off disappears with the first list after its start", async () => {
  beat("pi-1", "pi-2");
  await start();
  await end();
  api.remove(leases, "kube-node-lease/pi-1");
  const set = await start();
  expect(Object.keys(versions(set))).toEqual(["pi-2"]);
  await end();
});

test("several pages are one list, so nothing counts as deleted before the last page", async () => {
  beat("pi-1", "pi-2", "pi-3", "pi-4", "pi-5");
  const set = await start({}, 2);
  const notified = notificationsOf(set, leases);
  beat("pi-5");
  await clock.advance("20s");
  expect(versions(set)["pi-5"]).toBe("106");
  expect(notified).toEqual([]);
  await end();
});

test("while an object of the list cannot be read, nothing counts as deleted", async () => {
  beat("pi-1", "pi-2");
  const set = await start();
  api.remove(leases, "kube-node-lease/pi-1");
  api.unusable.push("kube-node-lease/pi-1: has no uid");
  await clock.advance("20s");
  expect(Object.keys(versions(set))).toEqual(["pi-1", "pi-2"]);
  api.unusable.length = 0;
  await clock.advance("20s");
  expect(Object.keys(versions(set))).toEqual(["pi-2"]);
  await end();
});

test("a failed list marks the watch as disconnected immediately, and the next successful list ends that", async () => {
  beat("pi-1");
  const set = await start();
  const back = clock.now().mono + 60_000;
  api.fail("list", refused("list"), 1000, () => clock.now().mono >= back);
  await clock.advance("20s");
  expect(set.informer(leases).health.connected).toBe(false);
  await clock.advance("30s");
  expect(isLive(set.informer(leases).health, limits, clock.now())).toBe(false);
  await clock.advance("2m");
  const { health } = set.informer(leases);
  expect(isLive(health, limits, clock.now())).toBe(true);
  expect(health.restoredAt?.mono).toBeGreaterThanOrEqual(back);
  await end();
});

test("boards of other sites do not cost more than their share of the list", async () => {
  api.put(nodes, node("pi-1", { labels: { site: "a" } }));
  beat("pi-1", "elsewhere");
  const set = await start({ nodeSelector: "site=a" });
  await clock.advance("1s");
  const changes = (): number => database.prepare<{ n: number }>("SELECT total_changes() AS n").get()?.n ?? 0;
  const before = changes();
  beat("pi-1", "elsewhere");
  await clock.advance("20s");
  expect(Object.keys(versions(set))).toEqual(["pi-1"]);
  expect(changes()).toBe(before);
  await end();
});
