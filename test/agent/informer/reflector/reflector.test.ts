import { beforeEach, describe, expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { nodes, pods } from "../../../../agent/api/resources.ts";
import { ApiError } from "../../../../agent/client/api-error.ts";
import { trimPod } from "../../../../agent/informer/kinds/trim.ts";
import { unreadPod } from "../../../../agent/informer/kinds/unread.ts";
import { ListTurns } from "../../../../agent/informer/list-turns.ts";
import type { ReflectorStore } from "../../../../agent/informer/reflector/reflector.ts";
import { Reflector } from "../../../../agent/informer/reflector/reflector.ts";
import { isLive } from "../../../../agent/informer/watch-health.ts";
import type { Database } from "../../../../storage/database/database.ts";
import { DeltaFIFO } from "../../../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../../../storage/indexer/indexer.ts";
import { UnusableObjects } from "../../../../storage/unusable-objects.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { limits, openCache } from "../cache.ts";
import { apiError, expired, FakeApi, refused } from "../fake-api.ts";
import { node, pod } from "../objects.ts";

let clock: FakeClock;
let api: FakeApi;
let log: RecordingLog;
let database: Database;
let fifo: DeltaFIFO<Pod>;
let indexer: Indexer<Pod>;
let reflector: Reflector<Pod>;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeApi(clock);
  log = new RecordingLog();
  database = openCache();
});

/** Starts, or starts anew: what the last run stored is there, what it had in memory is not. */
function start(
  wrap: (store: DeltaFIFO<Pod>) => ReflectorStore<Pod> = (store) => store,
  { seed = 7, ...more }: { seed?: number; isUrgent?: () => boolean; trim?: (one: Pod) => Pod } = {},
): void {
  indexer = new Indexer<Pod>({ database, resource: "pods", indices: {}, decodedBytes: 100_000 });
  fifo = new DeltaFIFO<Pod>({ database, resource: "pods", indexer, deltasPerObject: 16 });
  reflector = new Reflector(
    { clock, log, random: new SeededRandom(seed) },
    {
      resource: pods,
      selection: {},
      client: api,
      store: wrap(fifo),
      trim: trimPod,
      unread: unreadPod,
      rejections: new UnusableObjects(database, "pods"),
      pageSize: 500,
      limits,
      turns: new ListTurns(),
      stored: () => {},
      ...more,
    },
  );
  stop = new AbortController();
  running = reflector.run(stop.signal);
}

async function end(): Promise<void> {
  stop.abort(new Error("stopped"));
  await clock.settle();
  await running;
}

/** Applies what waits, and says which objects there are. */
function stored(): string[] {
  while (fifo.depth > 0) fifo.pop(64);
  return [...indexer.list()].map(({ metadata }) => metadata.name);
}

const pauses = (verb: "list" | "watch"): number[] => {
  const times = api.asked(verb).map(({ at }) => at);
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
};

describe("the first list", () => {
  test("is read in pages of the newest state, and the watch begins at its resourceVersion", async () => {
    for (let index = 0; index < 1200; index++) api.put(pods, pod(`web-${index}`));
    start();
    await clock.settle();

    const lists = api.asked("list");
    expect(lists.map(({ options }) => options.limit)).toEqual([500, 500, 500]);
    expect(lists.map(({ options }) => options.resourceVersion)).toEqual([undefined, undefined, undefined]);
    expect(lists.map(({ options }) => options.continue)).toEqual([undefined, "1300:500", "1300:1000"]);
    const [watch] = api.asked("watch");
    expect(watch?.options.resourceVersion).toBe("1300");
    expect(watch?.options.timeoutSeconds).toBeGreaterThanOrEqual(300);
    expect(watch?.options.timeoutSeconds).toBeLessThan(600);
    expect(stored()).toHaveLength(1200);
    await end();
  });

  test("whose snapshot expires between two pages is repeated once, whole", async () => {
    for (let index = 0; index < 600; index++) api.put(pods, pod(`web-${index}`));
    api.fail("list", expired("list"), 1, ({ options }) => options.continue === undefined);
    start();
    await clock.settle();
    expect(api.asked("list").map(({ options }) => [options.limit, options.continue])).toEqual([
      [500, undefined],
      [500, "700:500"],
      [undefined, undefined],
    ]);
    expect(stored()).toHaveLength(600);
    await end();
  });

  test("that fails leaves nothing behind, and is started again after a pause", async () => {
    for (let index = 0; index < 600; index++) api.put(pods, pod(`web-${index}`));
    api.fail("list", apiError("list", 500, "InternalError"), 1, ({ options }) => options.continue === undefined);
    start();
    await clock.settle();
    expect(fifo.resourceVersion).toBeUndefined();
    expect(stored()).toEqual([]);
    await clock.advance("2s");
    expect(stored()).toHaveLength(600);
    await end();
  });

  test("of a resource that the API server does not serve is requested once a minute, and the reason is reported", async () => {
    api.put(pods, pod("web"));
    api.fail("list", apiError("list", 404, "NotFound"), 3);
    start();
    await clock.advance("150s");
    expect(pauses("list").every((pause) => pause >= 60_000)).toBe(true);
    expect(reflector.stats.problem).toMatch(/does not serve this resource.*Controllers that need it do not run/);
    expect(fifo.resourceVersion).toBeUndefined();
    await clock.advance("60s");
    expect(stored()).toEqual(["web"]);
    expect(reflector.stats.problem).toBeUndefined();
    await end();
  });

  test("counts unusable objects, and continues", async () => {
    api.put(pods, pod("web"));
    api.unusable.push("Pod default/odd: has no metadata.uid");
    start();
    await clock.settle();
    expect(stored()).toEqual(["web"]);
    expect(reflector.stats.rejected).toEqual({ count: 1, last: ["Pod default/odd: has no metadata.uid"] });
    await end();
  });
});

describe("a restart", () => {
  test("resumes the watch at the stored position, without a list", async () => {
    api.put(pods, pod("web-1"));
    start();
    await clock.settle();
    api.put(pods, pod("web-2"));
    await clock.advance("1s");
    await end();
    const position = fifo.resourceVersion;

    api.put(pods, pod("web-3"));
    start();
    await clock.advance("1s");
    expect(api.asked("list")).toHaveLength(1);
    expect(api.asked("watch").at(1)?.options.resourceVersion).toBe(position);
    expect(stored()).toEqual(["web-1", "web-2", "web-3"]);
    await end();
  });

  test("lists from the previous position if the server has lost the history, and finds deletions", async () => {
    api.put(pods, pod("web-1"));
    api.put(pods, pod("web-2"));
    start();
    await clock.settle();
    expect(stored()).toEqual(["web-1", "web-2"]);
    const position = fifo.resourceVersion;
    await end();

    api.remove(pods, "default/web-1");
    api.compact();
    start();
    await clock.advance("2s");
    expect(api.asked("list").at(-1)?.options).toMatchObject({
      resourceVersion: position,
      resourceVersionMatch: "NotOlderThan",
      limit: 500,
    });
    expect(stored()).toEqual(["web-2"]);
    await end();
  });
});

describe("a lost history", () => {
  test("in the middle of a burst does not lose an event: earlier ones are stored, and the list brings the others", async () => {
    start();
    await clock.settle();
    for (let index = 0; index < 10; index++) api.put(pods, pod(`web-${index}`));
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    api.put(pods, pod("web-late"));
    const last = String(Number(api.version) - 1);
    await clock.settle();
    expect(fifo.resourceVersion).toBe(last);
    await clock.advance("2s");
    expect(api.asked("list").at(-1)?.options.resourceVersion).toBe(last);
    expect(stored()).toHaveLength(11);
    expect(log.said("warn")).toEqual([]);
    await end();
  });

  test("is reported as a problem only if the next attempt fails too", async () => {
    start();
    await clock.settle();
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    await clock.settle();
    expect(reflector.stats.problem).toBeUndefined();
    api.fail("list", expired("list"), 2);
    await clock.advance("2s");
    expect(reflector.stats.problem).toMatch(/list/);
    await clock.advance("10s");
    expect(reflector.stats.problem).toBeUndefined();
    await end();
  });

  test("is immediately followed by a list of the newest state if the list is refused with 410 as well", async () => {
    start();
    await clock.settle();
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    api.fail("list", expired("list"));
    await clock.advance("2s");
    const [, refusedList, newest] = api.asked("list");
    expect(refusedList?.options.resourceVersion).toBe("100");
    expect(newest?.options.resourceVersion).toBeUndefined();
    expect(newest?.at).toBe(refusedList?.at);
    await end();
  });

  test("stays recorded while the list of the newest state fails", async () => {
    start();
    await clock.settle();
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    api.fail("list", expired("list"));
    api.fail("list", refused("list"), 2);
    await clock.advance("30s");
    expect(api.asked("list").map(({ options }) => options.resourceVersion)).toEqual([
      undefined,
      "100",
      undefined,
      undefined,
      undefined,
    ]);
    await end();
  });

  test("because etcd was restored from a backup is noticed by the silence that follows, after reading two objects", async () => {
    start();
    await clock.settle();
    api.put(pods, pod("web"));
    await clock.advance("1s");
    api.restore(50);
    api.openWatch.break(apiError("watch", 0, "Reset"));
    await clock.advance("2s");
    api.openWatch.freeze();
    await clock.advance("100s");
    expect(api.asked("list").map(({ options }) => [options.resourceVersion, options.limit])).toEqual([
      [undefined, 500],
      [undefined, 1],
      ["101", 1],
      [undefined, 500],
    ]);
    expect(fifo.resourceVersion).toBe("50");
    await end();
  });

  test("is not suspected on a link that is interrupted for a while", async () => {
    start();
    await clock.settle();
    api.openWatch.freeze();
    await clock.advance("95s");
    expect(api.asked("list").map(({ options }) => options.limit)).toEqual([500, 1]);
    expect(reflector.health.connected).toBe(true);
    await end();
  });

  test("because etcd was restored from a backup leads to a list of the newest state", async () => {
    start();
    await clock.settle();
    api.restore(50);
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    await clock.advance("2s");
    expect(fifo.resourceVersion).toBe("50");
    await end();
  });
});

describe("an interrupted watch", () => {
  test("that lasted a while is immediately reopened from the last event, without a list", async () => {
    start();
    await clock.advance("10s");
    api.put(pods, pod("web"));
    await clock.settle();
    api.openWatch.close();
    await clock.settle();
    expect(api.asked("list")).toHaveLength(1);
    expect(api.asked("watch").map(({ options, at }) => [options.resourceVersion, at])).toEqual([
      ["100", 0],
      ["101", 10_000],
    ]);
    await end();
  });

  test("that ended immediately without an event is reopened after a pause, with a list of one object", async () => {
    start();
    await clock.settle();
    await clock.advance("100ms");
    api.openWatch.close();
    await clock.advance("5s");
    const [pause = 0] = pauses("watch");
    expect(pause).toBeGreaterThanOrEqual(900);
    expect(pause).toBeLessThan(1700);
    expect(api.asked("list").map(({ options }) => options.limit)).toEqual([500, 1]);
    await end();
  });

  test("because of a broken connection causes a pause but not a list", async () => {
    start();
    await clock.advance("1m");
    api.openWatch.break(apiError("watch", 0, "Reset"));
    await clock.advance("5s");
    expect(api.watches).toHaveLength(2);
    expect(api.asked("list")).toHaveLength(1);
    await end();
  });

  test("while connections are refused waits longer each time", async () => {
    start();
    await clock.advance("5m");
    api.fail("watch", refused("watch"), 3);
    api.openWatch.close();
    await clock.advance("20s");
    const [, first = 0, second = 0, third = 0] = pauses("watch");
    expect(first).toBeGreaterThanOrEqual(800);
    expect(first).toBeLessThan(1600);
    expect(second).toBeGreaterThanOrEqual(1600);
    expect(second).toBeLessThan(3200);
    expect(third).toBeGreaterThanOrEqual(3200);
    expect(third).toBeLessThan(6400);
    expect(api.asked("list")).toHaveLength(1);
    await end();
  });

  test("because of a failing link is reported by the link alone, even if a person could help", async () => {
    start();
    await clock.advance("1m");
    const hint = "Renew the token in the kubeconfig.";
    const outages = [
      apiError("watch", 0, "Reset"),
      refused("watch"),
      new ApiError({ verb: "watch", target: "pods" }, { status: 0, reason: "Credentials", message: "expired", hint }),
    ];
    for (const error of outages) api.fail("watch", error, 1);
    api.openWatch.close();
    await clock.advance("1m");
    expect(api.watches.length).toBeGreaterThan(1);
    expect([...log.said("warn"), ...log.said("error")]).toEqual([]);
    expect(log.said("debug").filter((line) => line === "watch interrupted")).toHaveLength(3);
    await end();
  });

  test("because of a server that responds with an error is reported once", async () => {
    start();
    await clock.advance("1m");
    api.fail("watch", apiError("watch", 500, "InternalError"), 3);
    api.openWatch.close();
    await clock.advance("1m");
    expect(log.said("warn")).toEqual(["watch interrupted"]);
    await end();
  });

  test("of a follower returns at a random time within half a minute, so that the boards of a fleet do not all return together", async () => {
    const waits: number[] = [];
    for (let seed = 1; seed <= 100; seed++) {
      clock = new FakeClock();
      api = new FakeApi(clock);
      database = openCache();
      start((store) => store, { seed, isUrgent: () => false });
      await clock.settle();
      api.openWatch.break(apiError("watch", 0, "Reset"));
      await clock.advance("40s");
      waits.push(...pauses("watch"));
      await end();
    }
    const perSecond = new Map<number, number>();
    for (const wait of waits) {
      const second = Math.floor(wait / 1000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(waits).toHaveLength(100);
    expect(Math.max(...waits)).toBeLessThan(30_000);
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(10);
  });

  test("because of too many requests continues from the same position, not before the server permits", async () => {
    start();
    await clock.settle();
    api.openWatch.say({ type: "ERROR", error: apiError("watch", 429, "TooManyRequests") });
    await clock.advance("5s");
    expect(api.asked("watch").map(({ options }) => options.resourceVersion)).toEqual(["100", "100"]);
    expect(api.asked("list")).toHaveLength(1);
    await end();
  });

  test("because of a server that returns without its history does not wait for as long as the server was away", async () => {
    start();
    await clock.advance("5m");
    api.fail("watch", refused("watch"), 4);
    api.openWatch.close();
    await clock.advance("5s");
    api.compact();
    api.put(pods, pod("web"));
    api.compact();
    await clock.until(() => api.asked("watch").length === 6, "30s");
    const back = api.asked("watch").at(-1)?.at ?? 0;
    await clock.until(() => api.asked("list").length === 2, "30s");
    expect((api.asked("list").at(-1)?.at ?? 0) - back).toBeLessThan(1600);
    await end();
  });

  test("because of another error in the stream continues from the same position, if that is still possible", async () => {
    start();
    await clock.settle();
    api.openWatch.say({ type: "ERROR", error: apiError("watch", 500, "InternalError") });
    await clock.advance("5s");
    expect(api.watches).toHaveLength(2);
    expect(api.asked("list").map(({ options }) => options.limit)).toEqual([500, 1]);
    await end();
  });

  test("because the server does not know the position leads to a list of the newest state", async () => {
    start();
    await clock.settle();
    await clock.advance("1s");
    // As kube-apiserver 1.36 answers to a watch, and to a list, from a position that is no number.
    api.fail("watch", apiError("watch", 500, "InternalError"));
    api.fail("list", apiError("list", 400, "BadRequest"));
    api.openWatch.close();
    await clock.advance("10s");
    expect(api.asked("list").map(({ options }) => [options.resourceVersion, options.limit])).toEqual([
      [undefined, 500],
      ["100", 1],
      [undefined, 500],
    ]);
    await end();
  });

  test("restarts its backoff two minutes after the last start, even while the server stays away", async () => {
    start();
    await clock.advance("5m");
    api.fail("watch", refused("watch"), 1000);
    api.openWatch.close();
    await clock.advance("1h");
    const waits = pauses("watch").slice(1);
    expect(Math.max(...waits)).toBeLessThan(60_000);
    expect(waits.filter((wait) => wait < 1600).length).toBeGreaterThan(10);
    await end();
  });
});

describe("a watch", () => {
  test("is not live once the first list has failed, not while that list is under way", async () => {
    api.fail("list", apiError("list", 429, "TooManyRequests"), 1000);
    start();
    expect(reflector.health.notLiveSince).toBeUndefined();
    const begun = clock.now();
    await clock.settle();
    await clock.advance("5m");
    expect(reflector.health).toMatchObject({ connected: false, notLiveSince: begun });
    await end();
  });

  test("ends a half-open connection after the stall bound, and resumes the watch", async () => {
    start();
    await clock.advance("30s");
    api.put(pods, pod("web-1"));
    await clock.settle();
    api.openWatch.freeze();
    api.put(pods, pod("web-2"));
    await clock.advance("89s");
    expect(reflector.health.connected).toBe(true);
    await clock.advance("1s");
    expect(reflector.health.connected).toBe(false);
    await clock.advance("2s");
    expect(reflector.health.connected).toBe(true);
    expect(reflector.health.restoredAt).toBeDefined();
    expect(stored()).toEqual(["web-1", "web-2"]);
    expect(api.asked("list")).toHaveLength(1);
    await end();
  });

  test("is live with bookmarks alone, but only bookmarks that moved are proof", async () => {
    start();
    await clock.advance("1s");
    const begun = clock.now().mono - 1000;
    await clock.advance("2m");
    expect(reflector.health.lastReceived?.mono).toBe(begun + 120_000);
    expect(reflector.health.lastProof).toBeUndefined();
    api.put(nodes, node("pi-1"));
    await clock.advance("60s");
    expect(reflector.health.lastProof?.mono).toBe(begun + 180_000);
    expect(api.watches).toHaveLength(1);
    await end();
  });

  test("remains live while its resource does not change, because one list makes the server send its bookmarks", async () => {
    api.knowsProgress = false;
    start();
    const health: boolean[] = [];
    for (let second = 0; second < 290; second++) {
      if (second % 10 === 5) api.put(nodes, node("pi-1"));
      await clock.advance("1s");
      health.push(isLive(reflector.health, limits, clock.now()));
    }
    expect(health).not.toContain(false);
    expect(api.watches).toHaveLength(1);
    expect(api.asked("list").map(({ at, options }) => [at, options])).toEqual([
      [0, { limit: 500 }],
      [75_000, { limit: 1, metadataOnly: true }],
    ]);
    expect(reflector.health.restoredAt).toBeUndefined();
    expect(log.said("warn")).toEqual([]);
    await end();
  });

  test("does not need such a list once it has delivered something, because the server then sends bookmarks by itself", async () => {
    api.knowsProgress = false;
    start();
    await clock.advance("1s");
    api.put(pods, pod("web"));
    await clock.advance("50s");
    api.openWatch.freeze();
    await clock.advance("45s");
    expect(api.asked("list")).toHaveLength(1);
    expect(api.watches).toHaveLength(2);
    await end();
  });

  test("ends, although the server responds, if nothing arrives after the response either", async () => {
    start();
    await clock.settle();
    api.openWatch.freeze();
    await clock.advance("75s");
    expect(api.asked("list").at(-1)?.options.limit).toBe(1);
    await clock.advance("89s");
    expect([reflector.health.connected, api.watches.length]).toEqual([true, 1]);
    await clock.advance("1s");
    expect(reflector.health.connected).toBe(false);
    await clock.advance("5s");
    expect([reflector.health.connected, api.watches.length]).toEqual([true, 2]);
    await end();
  });

  test("ends at the stall bound if the server does not respond to that list", async () => {
    api.knowsProgress = false;
    start();
    await clock.settle();
    api.fail("list", refused("list"));
    await clock.advance("89s");
    expect(reflector.health.connected).toBe(true);
    await clock.advance("1s");
    expect(reflector.health.connected).toBe(false);
    await end();
  });

  describe("whose events are large and arrive over a slow link", () => {
    /** The open watch is within an event, of which `bytes` arrive every ten seconds. */
    async function within(bytes: number, seconds: number): Promise<void> {
      for (let passed = 0; passed < seconds; passed += 10) {
        api.openWatch.dribble(bytes);
        await clock.advance("10s");
      }
    }

    test("continues until the event is complete, and is not live in the meantime", async () => {
      start();
      await clock.advance("61s");
      const arrive = api.openWatch.delay();
      api.put(pods, pod("large"));
      await within(20_000, 200);
      expect([api.watches.length, reflector.health.connected]).toEqual([1, true]);
      expect(isLive(reflector.health, limits, clock.now())).toBe(false);
      expect(reflector.health.lastProof).toBeUndefined();
      arrive();
      await clock.advance("1s");
      expect(stored()).toEqual(["large"]);
      expect([api.watches.length, isLive(reflector.health, limits, clock.now())]).toEqual([1, true]);
      await end();
    });

    test("is not checked during its first event, so it does not seem to be live", async () => {
      start();
      await clock.advance("1s");
      api.openWatch.delay();
      await within(20_000, 100);
      expect(api.asked("list")).toHaveLength(1);
      expect(isLive(reflector.health, limits, clock.now())).toBe(false);
      await end();
    });

    test("is listed once two streams ended within an event, and the status says so until the position moves", async () => {
      start();
      await clock.advance("1s");
      api.put(pods, pod("web"));
      await clock.advance("5s");
      api.openWatch.freeze();
      api.arrivesWhole = false;
      api.put(pods, pod("large"));
      api.openWatch.dribble(20_000);
      await clock.advance("95s");
      expect([api.asked("list").length, api.watches.length]).toEqual([1, 2]);
      expect(reflector.stats.problem).toMatch(/^watch pods: an event is incomplete after 90 s and 20 kB\. The link/);
      api.openWatch.dribble(20_000);
      await clock.advance("60s");
      expect(reflector.stats.problem).toBeDefined();
      await clock.advance("35s");
      expect([api.asked("list").length, api.watches.length]).toEqual([2, 3]);
      expect(api.asked("list").at(-1)?.options.resourceVersion).toBe("101");
      expect([stored(), reflector.stats.problem]).toEqual([["large", "web"], undefined]);
      await end();
    });

    test("is not listed for events that fail at different positions", async () => {
      start();
      for (let index = 0; index < 4; index++) {
        await clock.advance("1s");
        api.put(pods, pod(`web-${index}`));
        await clock.advance("1s");
        api.openWatch.freeze();
        api.openWatch.dribble(20_000);
        await clock.advance("95s");
      }
      expect([api.asked("list").length, api.watches.length]).toEqual([1, 5]);
      expect(reflector.stats.problem).toBeDefined();
      api.put(pods, pod("last"));
      await clock.advance("1s");
      expect(reflector.stats.problem).toBeUndefined();
      await end();
    });
  });

  test("is not proven by an event after a pause, because later events may have been delayed with it", async () => {
    start();
    await clock.advance("45s");
    const proofs: (number | undefined)[] = [];
    for (let second = 0; second < 12; second++) {
      api.put(pods, pod("web", { labels: { turn: String(second) } }));
      await clock.advance("1s");
      stored();
      const { lastProof } = reflector.health;
      proofs.push(lastProof && Math.round((clock.now().mono - lastProof.mono) / 1000));
    }
    expect(proofs).toEqual([...new Array(10).fill(undefined), 1, 1]);
    await end();
  });

  test("is proven once an event can be read, not while it waits to be written", async () => {
    start();
    await clock.advance("45s");
    for (let second = 0; second < 15; second++) {
      api.put(pods, pod("web", { labels: { turn: String(second) } }));
      await clock.advance("1s");
    }
    stored();
    const before = reflector.health.lastProof;
    const { mono } = clock.now();
    api.put(pods, pod("web", { labels: { turn: "last" } }));
    await clock.advance("20ms");
    expect(reflector.health.lastReceived?.mono).toBe(mono);
    expect(reflector.health.lastProof).toEqual(before);
    await clock.advance("40ms");
    expect(reflector.health.lastProof).toEqual(before);
    stored();
    expect(reflector.health.lastProof?.mono).toBe(mono);
    await end();
  });

  test("has no outage when it ends regularly", async () => {
    start();
    await clock.advance("1h");
    expect(api.watches.length).toBeGreaterThan(5);
    expect(reflector.health.restoredAt).toBeUndefined();
    expect(log.said("warn")).toEqual([]);
    await end();
  });
});

describe("an event", () => {
  test("is written with all others of the same 50 ms", async () => {
    start();
    await clock.settle();
    for (let index = 0; index < 20; index++) api.put(pods, pod(`web-${index}`));
    await clock.settle();
    expect(fifo.depth).toBe(0);
    await clock.advance("49ms");
    expect(fifo.depth).toBe(0);
    await clock.advance("1ms");
    expect(fifo.depth).toBe(20);
    await end();
  });

  test("in a burst of 10 000 waits in the connection once enough are pending, and none is lost", async () => {
    start();
    await clock.settle();
    for (let index = 0; index < 10_000; index++) api.put(pods, pod(`web-${index}`));
    for (let turn = 0; turn < 100; turn++) await clock.settle();
    expect(fifo.depth).toBeLessThanOrEqual(1024 + 64);
    const { taken } = api.openWatch;
    await clock.advance("5m");
    expect(api.openWatch.taken).toBe(taken);
    const seen = new Set<string>();
    for (let pass = 0; seen.size < 10_000 && pass < 1000; pass++) {
      for (const { key } of fifo.pop(64)) seen.add(key);
      if (fifo.depth <= 1024) await clock.advance("50ms");
      expect(fifo.depth).toBeLessThanOrEqual(1024 + 64);
    }
    expect(seen.size).toBe(10_000);
    await end();
  });

  test("that cannot be used is counted and named; the position moves on", async () => {
    start();
    await clock.settle();
    for (let index = 1; index <= 7; index++) {
      api.openWatch.say({
        type: "REJECTED",
        why: `Pod default/odd-${index}: has no metadata.uid`,
        resourceVersion: `${200 + index}`,
      });
    }
    api.openWatch.say({ type: "REJECTED", why: "a line that is not an event", resourceVersion: undefined });
    await clock.advance("1s");
    expect(reflector.stats.rejected.count).toBe(8);
    expect(reflector.stats.rejected.last).toHaveLength(5);
    expect(reflector.stats.rejected.last.at(-1)).toBe("a line that is not an event");
    expect(fifo.resourceVersion).toBe("207");
    expect(api.watches).toHaveLength(1);
    await end();
  });

  const serving = { node: "pi-1", labels: { app: "web" } };
  const identity = (name: string, resourceVersion: string, uid = `uid-${name}`): Pod => ({
    metadata: { name, namespace: "default", uid, resourceVersion },
  });

  test("that deletes an object of which only the identity was read reports its last known state", async () => {
    api.put(pods, pod("web", serving));
    start();
    await clock.settle();
    stored();
    const known = indexer.get("default/web");
    const uid = known?.metadata.uid ?? "";
    api.openWatch.say({ type: "DELETED", object: identity("web", "300", uid), isBare: true });
    await clock.advance("1s");
    expect(fifo.pop(64)).toMatchObject([
      { before: { metadata: { uid, resourceVersion: "300", labels: { app: "web" } }, spec: { nodeName: "pi-1" } } },
    ]);
    expect(indexer.size).toBe(0);
    await end();
  });

  test("that cannot be used leaves its pod in the cache, neither ready nor with an address", async () => {
    api.put(pods, pod("web", serving));
    start();
    await clock.settle();
    const uid = fifo.newest("default/web")?.metadata.uid ?? "";
    const status = {
      phase: "Running",
      podIP: "10.0.0.7",
      podIPs: [{ ip: "10.0.0.7" }],
      conditions: [
        { type: "Ready", status: "True" },
        { type: "PodScheduled", status: "True" },
      ],
    };
    const ready = { ...identity("web", "299", uid), spec: { nodeName: "pi-1", containers: [] }, status };
    api.openWatch.say({ type: "MODIFIED", object: ready });
    api.openWatch.say({ type: "REJECTED", why: "x", resourceVersion: "300", identity: identity("web", "300", uid) });
    await clock.advance("1s");
    stored();
    expect(indexer.get("default/web")).toMatchObject({
      metadata: { uid, resourceVersion: "300" },
      spec: { nodeName: "pi-1" },
      status: { phase: "Running", conditions: [{ type: "PodScheduled", status: "True" }] },
    });
    expect(indexer.get("default/web")?.status).not.toHaveProperty("podIP");
    expect(indexer.get("default/web")?.status).not.toHaveProperty("podIPs");
    api.openWatch.say({
      type: "REJECTED",
      why: "x",
      resourceVersion: "301",
      identity: identity("web", "301", "another"),
    });
    await clock.advance("1s");
    expect(stored()).toEqual([]);
    expect(fifo.resourceVersion).toBe("301");
    await end();
  });

  test("whose object cannot be trimmed leaves the last state in the cache, in a list as well, and its deletion counts", async () => {
    for (const name of ["web", "api"]) api.put(pods, pod(name));
    start(undefined, {
      trim: (one) => {
        if (one.metadata.labels?.app === "broken") throw new Error("no containers");
        return trimPod(one);
      },
    });
    await clock.settle();
    const uidOf = (name: string): string => fifo.newest(`default/${name}`)?.metadata.uid ?? "";
    const broken = (name: string, resourceVersion: string): Pod => {
      const { metadata } = identity(name, resourceVersion, uidOf(name));
      return { ...pod(name), metadata: { ...metadata, labels: { app: "broken" } } };
    };
    api.openWatch.say({ type: "MODIFIED", object: broken("web", "300") });
    await clock.advance("1s");
    expect(stored()).toEqual(["api", "web"]);
    expect(reflector.stats.rejected.last).toEqual(["default/web: no containers"]);
    api.openWatch.say({ type: "DELETED", object: broken("web", "301") });
    await clock.advance("1s");
    expect([stored(), reflector.stats.rejected.last]).toEqual([["api"], []]);
    api.put(pods, broken("api", "302"));
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    await clock.advance("5s");
    // The server, which was not asked to delete the other one, lists it.
    expect([stored(), reflector.stats.rejected.last]).toEqual([["api", "web"], ["default/api: no containers"]]);
    await end();
  });

  test("that cannot be used is reported even after a restart, until the object is usable, deleted or no longer listed", async () => {
    for (const name of ["fixed", "gone", "left"]) api.put(pods, pod(name));
    start();
    await clock.settle();
    const uidOf = (name: string): string => fifo.newest(`default/${name}`)?.metadata.uid ?? "";
    for (const [at, name] of ["fixed", "gone", "left", "left"].entries()) {
      const resourceVersion = `${200 + at}`;
      const why = `Pod default/${name}: too large`;
      api.openWatch.say({
        type: "REJECTED",
        why,
        resourceVersion,
        identity: identity(name, resourceVersion, uidOf(name)),
      });
    }
    await clock.advance("1s");
    expect(reflector.stats.rejected.count).toBe(4);
    await end();
    start();
    await clock.settle();
    expect(reflector.stats.rejected).toEqual({
      count: 3,
      last: ["fixed", "gone", "left"].map((name) => `Pod default/${name}: too large`),
    });
    api.openWatch.say({ type: "MODIFIED", object: identity("fixed", "210", uidOf("fixed")) });
    api.openWatch.say({ type: "DELETED", object: identity("gone", "211", uidOf("gone")) });
    await clock.advance("1s");
    expect(reflector.stats.rejected).toEqual({ count: 3, last: ["Pod default/left: too large"] });
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    await clock.advance("10s");
    expect(reflector.stats.rejected).toEqual({ count: 3, last: [] });
    await end();
    start();
    await clock.settle();
    expect(reflector.stats.rejected.count).toBe(0);
    await end();
  });

  test("for a listed object without a usable state leaves its pod in the cache, and does not add an unknown pod", async () => {
    api.put(pods, pod("web", serving));
    api.put(pods, pod("gone", serving));
    start();
    await clock.settle();
    expect(stored()).toEqual(["gone", "web"]);
    api.openWatch.say({ type: "ERROR", error: expired("watch") });
    await clock.settle();
    const web = fifo.newest("default/web");
    if (web) api.put(pods, { ...web, kind: "Pod" });
    api.put(pods, pod("new"));
    api.remove(pods, "default/gone");
    api.unread.add("web").add("new");
    await clock.advance("10s");
    expect(api.asked("list")).toHaveLength(2);
    expect(stored()).toEqual(["web"]);
    expect(indexer.get("default/web")).toMatchObject({ spec: { nodeName: "pi-1" }, status: { conditions: [] } });
    expect(reflector.stats.rejected.count).toBe(2);
    await end();
  });

  test("that is malformed is requested again, because a truncated line may have been a deletion", async () => {
    api.put(pods, pod("web-1"));
    start();
    await clock.settle();
    const position = fifo.resourceVersion;
    api.openWatch.say({ type: "UNREADABLE", why: "a line of 80 characters that is not JSON" });
    await clock.settle();
    expect(fifo.resourceVersion).toBe(position);
    expect(reflector.stats.problem).toMatch(/not JSON.*A proxy between this board and the API server/);
    api.remove(pods, "default/web-1");
    await clock.advance("5s");
    expect(api.asked("watch").map(({ options }) => options.resourceVersion)).toEqual([position, position]);
    expect(api.asked("list")).toHaveLength(1);
    expect(stored()).toEqual([]);
    // Nothing is left to look for: the line was no object, and what it should have been was received.
    expect(reflector.stats).toMatchObject({ problem: undefined, rejected: { count: 0 } });
    await end();
  });

  test("that is malformed a second time leads to a list, less and less often", async () => {
    api.put(pods, pod("web-1"));
    start();
    await clock.settle();
    // It is lost on the way each time; the server sends nothing after it.
    for (let second = 0; second < 120; second++) {
      if (api.watches.at(-1)?.isOpen) api.openWatch.say({ type: "UNREADABLE", why: "a line that is not an event" });
      await clock.advance("1s");
    }
    expect(api.asked("watch").length).toBeLessThan(14);
    expect(api.asked("list").length).toBeGreaterThan(1);
    expect(api.asked("list").length).toBeLessThan(9);
    expect(reflector.stats.rejected.count).toBe(0);
    await end();
  });

  test("that cannot be used proves nothing, and a watch with no other event is not live", async () => {
    start();
    await clock.settle();
    for (let second = 0; second < 30; second++) {
      api.put(pods, pod("web"));
      await clock.advance("1s");
      fifo.pop(64);
    }
    const { lastProof } = reflector.health;
    expect(lastProof).toBeDefined();
    api.openWatch.say({ type: "REJECTED", why: "Pod default/odd: has no metadata.uid", resourceVersion: "300" });
    await clock.advance("1s");
    expect(reflector.health.lastProof).toEqual(lastProof);
    expect(reflector.health.lastReceived?.mono).toBeGreaterThan(lastProof?.mono ?? 0);
    await end();
  });

  test("received before a stop is written before the stop", async () => {
    start();
    await clock.settle();
    api.put(pods, pod("web"));
    await clock.settle();
    await end();
    expect(stored()).toEqual(["web"]);
    expect(clock.timers).toBeLessThanOrEqual(2);
  });

  test("that cannot be stored for a moment is sent again with the next watch", async () => {
    start((store) => failing(store, "retry"));
    await clock.settle();
    api.put(pods, pod("web"));
    await clock.advance("5s");
    expect(api.asked("watch").map(({ options }) => options.resourceVersion)).toEqual(["100", "100"]);
    expect(stored()).toEqual(["web"]);
    await end();
  });

  test("that cannot be stored without a person's help ends the work", async () => {
    start((store) => failing(store, "exit"));
    await clock.settle();
    api.put(pods, pod("web"));
    const ended = expect(running).rejects.toThrow("disk is full");
    await clock.advance("5s");
    await ended;
  });
});

/** A store whose first append fails. */
function failing(store: DeltaFIFO<Pod>, disposition: string): ReflectorStore<Pod> {
  let failures = 1;
  return {
    get resourceVersion() {
      return store.resourceVersion;
    },
    get depth() {
      return store.depth;
    },
    append(deltas, resourceVersion) {
      if (failures-- > 0) throw Object.assign(new Error("disk is full"), { disposition });
      store.append(deltas, resourceVersion);
    },
    bookmark: (resourceVersion) => store.bookmark(resourceVersion),
    newest: (key) => store.newest(key),
    bytes: (key) => store.bytes(key),
    replace: () => store.replace(),
  };
}
