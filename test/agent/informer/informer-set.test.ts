import { beforeEach, describe, expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { leases, nodes, pods, type Resource } from "../../../agent/api/resources.ts";
import { dispositionOf } from "../../../agent/base/errors.ts";
import type { InformerEvent } from "../../../agent/informer/informer.ts";
import { InformerSet } from "../../../agent/informer/informer-set.ts";
import { podIndices } from "../../../agent/informer/kinds/indexes.ts";
import { ReconnectScheduler } from "../../../agent/informer/reflector/reconnect-scheduler.ts";
import type { SiteScope } from "../../../agent/informer/scope.ts";
import type { Database } from "../../../storage/database/database.ts";
import { DeltaFIFO } from "../../../storage/delta-fifo/delta-fifo.ts";
import { StorageError } from "../../../storage/errors.ts";
import { Indexer } from "../../../storage/indexer/indexer.ts";
import { storedResources } from "../../../storage/indexer/stored-resources.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { limits, openCache } from "./cache.ts";
import { apiError, FakeApi, refused } from "./fake-api.ts";
import { lease, node, pod } from "./objects.ts";

let clock: FakeClock;
let api: FakeApi;
let log: RecordingLog;
let database: Database;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeApi(clock);
  log = new RecordingLog();
  database = openCache();
});

/** A board's informers, from start to stop. */
class Run {
  readonly set: InformerSet;
  readonly #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor(scope: SiteScope = {}, isUrgent = (): boolean => true) {
    const settings = { pageSize: 500, deltasPerObject: 16, decodedBytes: 1_000_000, limits };
    const ambient = { clock, log, random: new SeededRandom(3) };
    const reconnects = new ReconnectScheduler(ambient, { within: 0.9 * limits.blip, isUrgent });
    this.set = new InformerSet(ambient, { client: api, database, settings, scope, isUrgent, reconnects });
    for (const resource of [nodes, pods, leases]) this.set.informer<KubeObject>(resource);
  }

  async start(from = "1s"): Promise<this> {
    this.#ended = this.set.run(this.#stop.signal);
    await clock.advance(from);
    return this;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await clock.settle();
    await this.#ended;
  }

  names(resource: Resource<KubeObject>): string[] {
    return [...this.set.informer(resource).lister.list()].map(({ metadata }) => metadata.name);
  }

  /** What listeners of a resource hear from now on, as words. */
  notificationsOf<T extends KubeObject>(resource: Resource<T>): string[] {
    const notified: string[] = [];
    const word = ({ before, after, released }: InformerEvent<T>): string =>
      released ? "released" : before === undefined ? "appeared" : after === undefined ? "gone" : "changed";
    this.set.informer(resource).onChange((changes) => {
      for (const change of changes) notified.push(`${change.key} ${word(change)}`);
    });
    return notified;
  }
}

describe("a site that is the whole cluster", () => {
  test("has one watch per resource, regardless of the number of users, and only the kubelets' leases as metadata", async () => {
    const run = new Run();
    expect(run.set.informer(pods)).toBe(run.set.informer(pods));
    await run.start();
    expect(api.asked("watch").map(({ resource, options: { timeoutSeconds: _, ...rest } }) => [resource, rest])).toEqual(
      [
        ["nodes", { resourceVersion: "100" }],
        ["pods", { resourceVersion: "100" }],
        ["leases.coordination.k8s.io", { resourceVersion: "100", namespace: "kube-node-lease", metadataOnly: true }],
      ],
    );
    await run.stop();
  });

  test("notifies of additions, changes and deletions after they can be read", async () => {
    const run = await new Run().start();
    const notified = run.notificationsOf(pods);
    const seen: (string | undefined)[] = [];
    run.set.informer(pods).onChange(([change]) => {
      seen.push(run.set.informer(pods).lister.get(change?.key ?? "")?.status?.phase);
    });
    const web = api.put(pods, pod("web", { phase: "Pending" }));
    await clock.advance("1s");
    api.put(pods, { ...web, status: { phase: "Running" } });
    await clock.advance("1s");
    api.remove(pods, "default/web");
    await clock.advance("1s");
    expect(notified).toEqual(["default/web appeared", "default/web changed", "default/web gone"]);
    expect(seen).toEqual(["Pending", "Running", undefined]);
    await run.stop();
  });

  test("can be read as before after it released its memory", async () => {
    api.put(pods, pod("web", { phase: "Running" }));
    const run = await new Run().start();
    const { lister } = run.set.informer(pods);
    const before = lister.get("default/web");
    run.set.shed();
    const after = lister.get("default/web");
    expect(after).toEqual(before);
    // Decoded anew: nothing of it was kept in memory.
    expect(after).not.toBe(before);
    await run.stop();
  });

  test("notifies the current listeners of its first list, and does not read it again if there are none", async () => {
    for (let i = 0; i < 200; i++) api.put(pods, pod(`web-${i}`));
    const run = new Run();
    const notified = run.notificationsOf(pods);
    await run.start();
    await clock.until(() => run.set.informer(pods).hasSynced, "5s");
    expect(notified).toHaveLength(200);
    expect(new Set(notified).size).toBe(200);
    await run.stop();

    database = openCache();
    const again = await new Run().start();
    expect(again.set.informer(pods).hasSynced).toBe(true);
    expect(again.names(pods)).toHaveLength(200);
    const late = again.notificationsOf(pods);
    api.put(pods, pod("later"));
    await clock.advance("1s");
    expect(late).toEqual(["default/later appeared"]);
    await again.stop();
  });

  test("notifies of everything again once every twelve to 24 hours, without requests, and after queued changes", async () => {
    for (let i = 0; i < 200; i++) api.put(pods, pod(`web-${100 + i}`));
    const run = await new Run().start();
    const notified = run.notificationsOf(pods);
    const lists = api.asked("list").length;
    await clock.advance("12h");
    expect(notified).toEqual([]);
    await clock.until(() => notified.length > 0, "12h");
    api.remove(pods, "default/web-250");
    await clock.advance("1m");
    expect(notified.filter((word) => word.endsWith("changed")).length).toBeGreaterThanOrEqual(199);
    expect(new Set(notified)).toContain("default/web-299 changed");
    expect(notified.filter((word) => word.startsWith("default/web-250")).at(-1)).toBe("default/web-250 gone");
    expect(notified.length).toBeLessThanOrEqual(201);
    expect(run.set.stats().map(({ depth }) => depth)).toEqual([0, 0, 0]);
    expect(api.asked("list")).toHaveLength(lists);
    await run.stop();
  });

  test("does not resync or write anything if it has no listener", async () => {
    api.put(pods, pod("web"));
    const run = await new Run({}, () => false).start();
    const notified = run.notificationsOf(pods);
    await clock.advance("48h");
    expect(notified).toEqual([]);
    await run.stop();
  });

  test("finds pods by board, namespace and owner", async () => {
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "web", uid: "ds-1", controller: true };
    const web = pod("web", { node: "pi-3" });
    api.put(pods, { ...web, metadata: { ...web.metadata, ownerReferences: [owner] } });
    api.put(pods, pod("waiting"));
    const run = await new Run().start();
    const { lister } = run.set.informer(pods);
    const names = (found: Iterable<Pod>): string[] => [...found].map(({ metadata }) => metadata.name);
    expect(names(lister.byIndex("byNode", "pi-3"))).toEqual(["web"]);
    expect(names(lister.byIndex("byNode", ""))).toEqual([]);
    expect(names(lister.byIndex("byLabel", "default"))).toEqual(["waiting", "web"]);
    expect(names(lister.byIndex("byOwner", "ds-1"))).toEqual(["web"]);
    expect([...lister.indexValues("byNode")]).toEqual(["pi-3"]);
    expect([lister.countByIndex("byLabel", "default"), lister.countByIndex("byEnd", "ended")]).toEqual([2, 0]);
    // No kubelet has taken them up.
    expect([...lister.indexValues("byRun")]).toEqual([]);
    const ran = [{ type: "Ready", status: "False" }];
    api.put(pods, { ...web, status: { phase: "Running", conditions: ran } });
    await clock.advance("1s");
    expect(lister.countByIndex("byRun", "default")).toBe(1);
    api.put(pods, { ...web, status: { phase: "Succeeded", conditions: ran } });
    await clock.advance("1s");
    expect(lister.countByIndex("byRun", "default")).toBe(0);
    await run.stop();
  });

  test("delays only the users of a resource that the server does not serve", async () => {
    api.fail("list", apiError("list", 404, "NotFound"), 1, ({ resource }) => resource !== "pods");
    const run = await new Run().start();
    const never = new AbortController().signal;
    const begun: string[] = [];
    void run.set.synced([nodes], never).done.then(() => begun.push("judges boards"));
    const both = run.set.synced([nodes, pods], never);
    void both.done.then(() => begun.push("evicts pods"));
    await clock.advance("10s");
    expect(begun).toEqual(["judges boards"]);
    expect(both.missing()).toEqual(["pods"]);
    await clock.advance("1m");
    expect(begun).toEqual(["judges boards", "evicts pods"]);
    expect(both.missing()).toEqual([]);
    await run.stop();
  });

  test("is synced once its caches are filled, and after a restart once the watches are open", async () => {
    api.put(nodes, node("pi-1"));
    const run = new Run();
    let synced = 0;
    const never = new AbortController().signal;
    void run.set.synced([nodes, pods], never).done.then(() => synced++);
    await clock.advance("1s");
    expect(synced).toBe(0);
    await run.start();
    expect(synced).toBe(1);
    await run.stop();

    const again = new Run();
    expect(again.names(nodes)).toEqual(["pi-1"]);
    void again.set.synced([nodes, pods], never).done.then(() => synced++);
    await clock.advance("1s");
    expect(synced).toBe(1);
    await again.start();
    expect(synced).toBe(2);
    expect(api.asked("list")).toHaveLength(3);
    await again.stop();
  });

  test("has caught up only when the changes made in the meantime are in the cache, not when its watches are open", async () => {
    api.put(nodes, node("pi-1"));
    await (await new Run().start()).stop();
    api.put(nodes, node("pi-2"));
    const run = await new Run().start("10ms");
    let caughtUp = 0;
    const wait = run.set.caughtUp([nodes], new AbortController().signal);
    void wait.done.then(() => caughtUp++);
    expect(run.set.informer(nodes).health.connected).toBe(true);
    expect(run.names(nodes)).toEqual(["pi-1"]);
    expect(wait.missing()).toEqual(["nodes"]);
    await clock.advance("900ms");
    expect(run.names(nodes)).toEqual(["pi-1", "pi-2"]);
    expect(caughtUp).toBe(0);
    // The first watch is short: its end in order, after a silence, says that there is no more.
    await clock.advance("200ms");
    expect([caughtUp, wait.missing()]).toEqual([1, []]);
    expect(api.asked("watch", "nodes").at(-1)?.options.timeoutSeconds).toBeGreaterThanOrEqual(300);
    expect(api.asked("list", "nodes")).toHaveLength(1);
    await run.stop();
  });

  test("has not caught up while events still arrive as a watch ends; a bookmark then confirms it", async () => {
    api.put(nodes, node("pi-1"));
    await (await new Run().start()).stop();
    const run = await new Run().start("10ms");
    const isCurrent = (): boolean => run.set.informer(nodes).isCurrent;
    for (let tenths = 1; tenths <= 29; tenths++) {
      await clock.advance("100ms");
      api.put(nodes, node("pi-2", { labels: { tenths: String(tenths) } }));
      expect(isCurrent()).toBe(false);
    }
    // The second watch lasts four seconds; two seconds before its end comes the bookmark.
    await clock.advance("200ms");
    expect(isCurrent()).toBe(true);
    await run.stop();
  });

  test("catches up with a server without bookmarks, too", async () => {
    api.put(nodes, node("pi-1"));
    await (await new Run().start()).stop();
    api.sendsBookmarks = false;
    const run = await new Run().start("10ms");
    await clock.advance("800ms");
    api.put(nodes, node("pi-2"));
    await clock.advance("500ms");
    expect(run.set.informer(nodes).isCurrent).toBe(false);
    await clock.advance("4s");
    expect(run.set.informer(nodes).isCurrent).toBe(true);
    await run.stop();
  });

  test("shows heartbeats without a write or a wake, and stores them at a clean stop", async () => {
    api.put(nodes, node("pi-1"));
    api.put(leases, lease("pi-1"));
    const run = await new Run().start();
    const notified = [run.notificationsOf(nodes), run.notificationsOf(leases)];
    const writes = (): number =>
      database.prepare<{ changes: number }>("SELECT total_changes() AS changes").get()?.changes ?? 0;
    const before = writes();
    for (let minute = 0; minute < 30; minute++) {
      api.put(nodes, node("pi-1", { heartbeat: `2026-01-01T00:${String(minute + 10)}:00Z` }));
      api.put(leases, lease("pi-1", `2026-01-01T00:${String(minute + 10)}:00.000000Z`));
      await clock.advance("1m");
    }
    // A watch that was opened anew meanwhile has its first bookmark a minute later.
    await clock.advance("1m");
    expect(writes()).toBe(before);
    expect(notified).toEqual([[], []]);
    const shown = run.set.informer(leases).lister.get("kube-node-lease/pi-1");
    expect(shown?.metadata.resourceVersion).toBe(api.version);
    expect(run.set.informer(leases).health.lastReceived?.mono).toBeGreaterThan(clock.now().mono - 61_000);
    await run.stop();

    const again = new Run();
    expect(again.set.informer(leases).lister.get("kube-node-lease/pi-1")).toEqual(shown);
    expect(again.set.stats().map(({ position }) => position)).toEqual([api.version, api.version, api.version]);
  });

  test("writes events just once while nothing else waits", async () => {
    const run = await new Run().start();
    const notified = run.notificationsOf(pods);
    const writes = (): number =>
      database.prepare<{ changes: number }>("SELECT total_changes() AS changes").get()?.changes ?? 0;
    const before = writes();
    api.put(pods, pod("web"));
    await clock.advance("1s");
    expect(notified).toEqual(["default/web appeared"]);
    // The object, its namespace in the index, and the position.
    expect(writes() - before).toBe(3);
    await run.stop();
  });

  test("notifies of changes that an earlier run left in the journal before new ones", async () => {
    const first = await new Run().start();
    const [web, late] = [api.put(pods, pod("web")), pod("late")];
    await clock.advance("1s");
    await first.stop();
    const changed = api.put(pods, { ...web, status: { phase: "Failed" } });
    const indexer = new Indexer<Pod>({ database, resource: "pods", indices: podIndices, decodedBytes: 0 });
    const fifo = new DeltaFIFO<Pod>({ database, resource: "pods", indexer, deltasPerObject: 16 });
    fifo.append([{ type: "Updated", object: changed }], changed.metadata.resourceVersion);
    // What waits in the journal is not in the cache.
    expect(new Run().set.informer(pods).position).toBeUndefined();
    api.put(pods, { ...changed, status: { phase: "Succeeded" } });
    api.put(pods, late);

    const second = new Run();
    const phases: (string | undefined)[] = [];
    second.set.informer(pods).onChange((changes) => phases.push(...changes.map(({ after }) => after?.status?.phase)));
    await second.start();
    expect(phases).toEqual(["Failed", "Succeeded", "Running"]);
    expect(second.names(pods)).toEqual(["late", "web"]);
    await second.stop();
  });

  test("continues when a listener fails, and names it", async () => {
    const run = await new Run().start();
    run.set.informer(pods).onChange(() => {
      throw new Error("no such key");
    });
    const notified = run.notificationsOf(pods);
    api.put(pods, pod("one"));
    await clock.advance("1s");
    api.put(pods, pod("two"));
    await clock.advance("1s");
    expect(notified).toEqual(["default/one appeared", "default/two appeared"]);
    expect(log.said("error")).toEqual(["a listener failed", "a listener failed"]);
    await run.stop();
  });

  test("does not send more changes to a listener that needs several turns, and keeps new ones in the journal", async () => {
    const run = await new Run().start();
    const asked: string[][] = [];
    const ends: (() => void)[] = [];
    run.set.informer(pods).onChange((changes) => {
      asked.push(changes.map(({ key, after }) => `${key} ${after?.status?.phase}`));
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    const one = api.put(pods, pod("one"));
    await clock.advance("1s");
    api.put(pods, { ...one, status: { phase: "Failed" } });
    api.put(pods, pod("two"));
    await clock.advance("1s");
    expect(asked).toEqual([["default/one Running"]]);
    expect(run.set.stats().find(({ resource }) => resource === "pods")?.depth).toBe(2);
    ends[0]?.();
    await clock.advance("1s");
    expect(asked.slice(1)).toEqual([["default/one Failed", "default/two Running"]]);
    ends[1]?.();
    api.put(pods, pod("three"));
    await clock.advance("1s");
    expect(asked.slice(2)).toEqual([["default/three Running"]]);
    ends[2]?.();
    await run.stop();
  });

  test("rebuilds the cache if it proves damaged while a listener still works", async () => {
    const run = new Run();
    const ended = run.set.run(new AbortController().signal).catch((error: unknown) => error);
    await clock.advance("1s");
    const damaged = new StorageError("damaged", { file: "cache.db" });
    run.set.informer(pods).onChange(() => Promise.reject(damaged));
    api.put(pods, pod("one"));
    await clock.advance("1s");
    expect(dispositionOf(await ended)).toBe("rebuild");
  });

  test("does not notify a removed listener", async () => {
    const run = await new Run().start();
    const notified: number[] = [];
    const end = run.set.informer(pods).onChange((changes) => notified.push(changes.length));
    end();
    api.put(pods, pod("one"));
    await clock.advance("1s");
    expect(notified).toEqual([]);
    await run.stop();
  });

  test("takes a burst of 10 000 events in batches, and leaves turns to others between them", async () => {
    const run = await new Run().start();
    const sizes: number[] = [];
    run.set.informer(pods).onChange((changes) => sizes.push(changes.length));
    for (let index = 0; index < 10_000; index++) api.put(pods, pod(`web-${index}`));
    let turns = 0;
    let longest = 0;
    for (let last = performance.now(); sizes.reduce((a, b) => a + b, 0) < 10_000 && turns < 5000; turns++) {
      await clock.advance("10ms");
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(10_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
    expect(turns).toBeGreaterThan(10);
    await run.stop();
  });

  test("lists one resource at a time", async () => {
    const asked: string[] = [];
    let finished = 0;
    api.beforePage = ({ resource }) => {
      asked.push(`${resource} after ${finished}`);
    };
    const run = new Run();
    const original = api.list.bind(api);
    api.list = async (...args) => {
      const result = await original(...args);
      await clock.settle();
      finished++;
      return result;
    };
    await run.start();
    for (let turn = 0; turn < 10; turn++) await clock.settle();
    expect(asked).toEqual(["nodes after 0", "pods after 1", "leases.coordination.k8s.io after 2"]);
    await run.stop();
  });

  test("may be stopped and run again, as a standby does, and knows how long its watches were closed", async () => {
    const run = await new Run().start();
    api.put(pods, pod("one"));
    await clock.advance("1s");
    await run.stop();
    api.put(pods, pod("two"));
    await clock.advance("1h");

    const second = new AbortController();
    const ended = run.set.run(second.signal);
    await clock.advance("1s");
    expect(run.names(pods)).toEqual(["one", "two"]);
    expect(api.asked("list", "pods")).toHaveLength(1);
    expect(run.set.informer(pods).health.restoredAt?.mono).toBe(clock.now().mono - 1000);
    second.abort(new Error("stopped"));
    await clock.settle();
    await ended;
  });

  test("that was paused on purpose for an hour had no outage", async () => {
    const run = await new Run().start();
    await clock.advance("1s");
    const since = clock.now();
    await run.stop();
    run.set.pause(since);
    await clock.advance("1h");

    const second = new AbortController();
    const ended = run.set.run(second.signal);
    await clock.advance("1s");
    const healths = [run.set.informer(nodes).health, run.set.informer(pods).health];
    for (const health of healths) expect(health).toMatchObject({ connected: true, restoredAt: undefined });
    second.abort(new Error("stopped"));
    await clock.settle();
    await ended;
  });

  test("accepts neither registrations nor a second run while it runs", async () => {
    const set = new InformerSet(
      { clock, log, random: new SeededRandom(1) },
      {
        client: api,
        database,
        settings: { pageSize: 500, deltasPerObject: 16, decodedBytes: 1000, limits },
        scope: {},
      },
    );
    const stop = new AbortController();
    const ended = set.run(stop.signal);
    expect(() => set.informer(pods)).toThrow("while the informers were running");
    await expect(set.run(stop.signal)).rejects.toThrow("already");
    stop.abort(new Error("stopped"));
    await ended;
  });

  test("reports the state of each resource", async () => {
    api.put(pods, pod("one"));
    const run = await new Run().start();
    await clock.advance("5s");
    api.fail("watch", refused("watch"), 100, ({ resource }) => resource !== "pods");
    api.watches.find(({ request }) => request.resource === "pods")?.close();
    await clock.advance("5s");
    expect(run.set.stats().find(({ resource }) => resource === "pods")).toMatchObject({
      synced: true,
      live: false,
      receivedAgo: 11_000,
      provenAgo: undefined,
      lists: 1,
      watches: 1,
      rejected: { count: 0, last: [] },
      problem: "watch things: ConnectionRefused",
      depth: 0,
      objects: 1,
      position: "101",
    });
    await run.stop();
  });
});

describe("a site of selected boards", () => {
  const scope = { nodeSelector: "site=a" };
  const ours = { labels: { site: "a" } };
  const theirs = { labels: { site: "b" } };

  beforeEach(() => {
    api.put(nodes, node("pi-1", ours));
    api.put(nodes, node("pi-2", ours));
    api.put(nodes, node("pi-9", theirs));
    for (const board of ["pi-1", "pi-2", "pi-9"]) {
      api.put(leases, lease(board));
      api.put(pods, pod(`web-${board}`, { node: board }));
    }
  });

  test("knows its pods only up to the position of each board's watch", async () => {
    const run = await new Run(scope).start();
    await clock.advance("70s");
    const { position } = run.set.informer(pods);
    expect(position).toBe(api.version);
    api.put(pods, pod("another", { node: "pi-1" }));
    await clock.advance("1s");
    expect(run.names(pods)).toContain("another");
    expect(run.set.informer(pods).position).toBe(position);
    await clock.advance("70s");
    expect(run.set.informer(pods).position).toBe(api.version);
    await run.stop();
  });

  test("knows its boards, their leases and their pods, and nothing else", async () => {
    const run = await new Run(scope).start();
    expect(run.names(nodes)).toEqual(["pi-1", "pi-2"]);
    expect(run.names(leases)).toEqual(["pi-1", "pi-2"]);
    expect(run.names(pods)).toEqual(["web-pi-1", "web-pi-2"]);
    const { lister, hasSynced } = run.set.informer(pods);
    expect(hasSynced).toBe(true);
    expect(lister.size).toBe(2);
    expect(lister.get("default/web-pi-2")?.spec?.nodeName).toBe("pi-2");
    expect([...lister.byIndex("byNode", "pi-1")]).toHaveLength(1);
    expect(api.asked("watch", "pods").map(({ options }) => options.fieldSelector)).toEqual([
      "spec.nodeName=pi-1",
      "spec.nodeName=pi-2",
    ]);
    await run.stop();
  });

  /** Lets the watch of one board fail from now on, and those of the others work. */
  const cutOff = (): { board: string } => {
    const cut = { board: "" };
    const isOf = ({ options }: { readonly options: { readonly fieldSelector?: string | undefined } }): boolean =>
      options.fieldSelector === `spec.nodeName=${cut.board}`;
    api.fail("watch", refused("watch"), 1000, (request) => !isOf(request));
    return {
      get board() {
        return cut.board;
      },
      set board(board) {
        cut.board = board;
        for (const watch of api.watches) if (watch.isOpen && isOf(watch.request)) watch.break(refused("watch"));
      },
    };
  };
  const openWatches = (): readonly (string | undefined)[] =>
    api.watches.flatMap(({ isOpen, request }) =>
      isOpen && request.resource === "pods" ? [request.options.fieldSelector?.replace("spec.nodeName=", "")] : [],
    );

  test("is synced once each board's watch has been open, even if one of them was always reconnecting", async () => {
    const cut = cutOff();
    cut.board = "pi-2";
    const run = new Run(scope);
    const done: string[] = [];
    const never = new AbortController().signal;
    const synced = run.set.synced([nodes, pods], never);
    void synced.done.then(() => done.push("synced"));
    void run.set.caughtUp([nodes, pods], never).done.then(() => done.push("caught up"));
    await run.start("2s");
    expect([openWatches(), done, synced.missing()]).toEqual([["pi-1"], ["caught up"], ["pods"]]);
    cut.board = "pi-1";
    await clock.until(() => openWatches().includes("pi-2"), "2m");
    await clock.advance("25ms");
    expect(openWatches()).toEqual(["pi-2"]);
    expect(done).toEqual(["caught up", "synced"]);
    expect(synced.missing()).toEqual([]);
    await run.stop();
  });

  test("is not synced by what its watches received earlier, because a standby may have been without one for long", async () => {
    const cut = cutOff();
    const run = await new Run(scope).start();
    cut.board = "pi-1";
    await clock.advance("1m");
    let synced = 0;
    void run.set.synced([nodes, pods], new AbortController().signal).done.then(() => synced++);
    await clock.advance("1m");
    expect([openWatches(), synced]).toEqual([["pi-2"], 0]);
    cut.board = "";
    await clock.until(() => openWatches().length === 2, "2m");
    await clock.advance("25ms");
    expect(synced).toBe(1);
    await run.stop();
  });

  test("watches a board that joins", async () => {
    const run = await new Run(scope).start();
    const notified = run.notificationsOf(pods);
    api.put(nodes, node("pi-3", ours));
    api.put(pods, pod("web-pi-3", { node: "pi-3" }));
    await clock.advance("1s");
    api.put(leases, lease("pi-3"));
    await clock.advance("1s");
    expect(notified).toEqual(["default/web-pi-3 appeared"]);
    expect(run.names(leases)).toEqual(["pi-1", "pi-2", "pi-3"]);
    expect(run.set.informer(pods).hasSynced).toBe(true);
    await run.stop();
  });

  test("releases a board that left the selection, and its pods: neither is reported as deleted", async () => {
    const run = await new Run(scope).start();
    const notified = [run.notificationsOf(nodes), run.notificationsOf(pods)];
    api.put(nodes, node("pi-2", theirs));
    await clock.advance("1s");
    expect(notified).toEqual([["pi-2 released"], ["default/web-pi-2 released"]]);
    expect(run.names(pods)).toEqual(["web-pi-1"]);
    expect(storedResources(database).filter((name) => name.startsWith("pods"))).toEqual(["pods[site=a]@pi-1"]);
    api.remove(pods, "default/web-pi-2");
    api.put(leases, lease("pi-2"));
    await clock.advance("1m");
    expect(notified[1]).toHaveLength(1);
    expect(run.names(leases)).toEqual(["pi-1"]);
    await run.stop();
  });

  test("accepts a board again that left and returned", async () => {
    const run = await new Run(scope).start();
    const notified = run.notificationsOf(pods);
    api.put(nodes, node("pi-2", theirs));
    await clock.advance("1s");
    api.put(nodes, node("pi-2", ours));
    await clock.advance("1s");
    expect(notified).toEqual(["default/web-pi-2 released", "default/web-pi-2 appeared"]);
    await run.stop();
  });

  test("reports a board that was deleted, and watches its pods until none is left", async () => {
    const run = await new Run(scope).start();
    const notified = [run.notificationsOf(nodes), run.notificationsOf(pods)];
    api.remove(nodes, "pi-2");
    await clock.advance("1m");
    expect(notified).toEqual([["pi-2 gone"], []]);
    expect(run.names(pods)).toEqual(["web-pi-1", "web-pi-2"]);
    api.remove(pods, "default/web-pi-2");
    await clock.advance("15s");
    expect(notified[1]).toEqual(["default/web-pi-2 gone"]);
    expect(storedResources(database)).not.toContain("pods[site=a]@pi-2");
    await run.stop();
  });

  test("concludes nothing until the API shows what became of a board", async () => {
    const run = await new Run(scope).start();
    const notified = [run.notificationsOf(nodes), run.notificationsOf(pods)];
    api.fail("get", refused("get"), 4);
    api.remove(nodes, "pi-2");
    await clock.advance("5s");
    expect(notified).toEqual([["pi-2 released"], []]);
    expect(run.names(pods)).toEqual(["web-pi-1", "web-pi-2"]);
    api.remove(pods, "default/web-pi-2");
    await clock.advance("1m");
    expect(notified[1]).toEqual(["default/web-pi-2 gone"]);
    expect(storedResources(database)).not.toContain("pods[site=a]@pi-2");
    await run.stop();
  });

  test("resumes every board's watch after a restart, and settles departures that happened in the meantime", async () => {
    const first = await new Run(scope).start();
    await first.stop();
    api.put(nodes, node("pi-2", theirs));
    const lists = api.asked("list").length;

    const again = new Run(scope);
    const notified = again.notificationsOf(pods);
    await again.start();
    await clock.advance("30s");
    expect(api.asked("list")).toHaveLength(lists);
    expect(again.names(pods)).toEqual(["web-pi-1"]);
    expect(notified).toEqual(["default/web-pi-2 released"]);
    await again.stop();
  });

  test("drops the cache of another selection", async () => {
    const first = await new Run(scope).start();
    await first.stop();
    const again = await new Run({ nodeSelector: "site=b" }).start();
    expect(again.names(pods)).toEqual(["web-pi-9"]);
    expect(storedResources(database)).toEqual([
      "leases.coordination.k8s.io[site=b]",
      "nodes[site=b]",
      "pods[site=b]@pi-9",
    ]);
    await again.stop();
  });

  test("with its own namespaces knows the pods that wait for a board, and does not lose one when it is bound", async () => {
    const waiting = api.put(pods, pod("waiting"));
    const run = await new Run({ ...scope, namespaceSelector: "site=a" }).start();
    expect(run.names(pods)).toEqual(["waiting", "web-pi-1", "web-pi-2"]);
    expect(api.asked("watch", "pods").map(({ options }) => options.fieldSelector)).toContain("spec.nodeName=");
    const notified = run.notificationsOf(pods);
    const board = api.watches.find(({ request }) => request.options.fieldSelector === "spec.nodeName=pi-2");
    const seen = (): Pod | undefined => run.set.informer(pods).lister.get("default/waiting");
    const release = board?.delay();
    api.put(pods, { ...waiting, spec: { containers: [], nodeName: "pi-2" } });
    await clock.advance("5s");
    expect([seen()?.metadata.uid, seen()?.spec?.nodeName, notified]).toEqual([waiting.metadata.uid, undefined, []]);
    expect(run.names(pods)).toEqual(["waiting", "web-pi-1", "web-pi-2"]);
    release?.();
    await clock.advance("1s");
    expect(run.set.informer(pods).lister.get("default/waiting")?.spec?.nodeName).toBe("pi-2");
    expect(notified).toEqual(["default/waiting appeared"]);
    api.put(pods, pod("lost"));
    await clock.advance("1s");
    api.remove(pods, "default/lost");
    await clock.advance("1s");
    expect(notified.slice(1)).toEqual(["default/lost appeared", "default/lost gone"]);
    await run.stop();
  });

  test("shows a pod that was recreated on another board, regardless of which watch reports first", async () => {
    const run = await new Run(scope).start();
    const old = api.watches.find(({ request }) => request.options.fieldSelector === "spec.nodeName=pi-1");
    old?.freeze();
    api.remove(pods, "default/web-pi-1");
    api.put(pods, pod("web-pi-1", { node: "pi-2" }));
    await clock.advance("1s");
    const { lister } = run.set.informer(pods);
    expect(lister.get("default/web-pi-1")?.spec?.nodeName).toBe("pi-2");
    expect([...lister.list()].filter(({ metadata }) => metadata.name === "web-pi-1")).toHaveLength(1);
    await clock.advance("3m");
    expect(lister.get("default/web-pi-1")?.spec?.nodeName).toBe("pi-2");
    expect([...lister.byIndex("byNode", "pi-1")]).toEqual([]);
    await run.stop();
  });

  test("is only as well connected for its pods as the worst of its watches", async () => {
    const run = await new Run(scope).start();
    expect(run.set.informer(pods).health.connected).toBe(true);
    api.fail("watch", refused("watch"), 100, ({ options }) => options.fieldSelector !== "spec.nodeName=pi-1");
    api.watches.find(({ request }) => request.options.fieldSelector === "spec.nodeName=pi-1")?.close();
    await clock.advance("5s");
    expect(run.set.informer(pods).health.connected).toBe(false);
    expect(run.set.informer(nodes).health.connected).toBe(true);
    expect(run.set.stats().find(({ resource }) => resource === "pods")).toMatchObject({ live: false, objects: 2 });
    await run.stop();
  });
});
