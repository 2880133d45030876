import { beforeEach, describe, expect, test } from "vitest";
import { pods } from "../../../agent/api/resources.ts";
import { InformerSet } from "../../../agent/informer/informer-set.ts";
import type { ServerHistory } from "../../../agent/informer/server-history.ts";
import type { Database } from "../../../storage/database/database.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { limits, openCache } from "./cache.ts";
import { FakeApi, refused } from "./fake-api.ts";
import { KnownHistory } from "./known-history.ts";
import { pod } from "./objects.ts";

let clock: FakeClock;
let api: FakeApi;
let database: Database;
let informers: InformerSet;
let history: KnownHistory;
let abandoned: AbortController;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new FakeApi(clock);
  database = openCache();
  history = new KnownHistory(undefined);
  abandoned = new AbortController();
});

/** The Lease is written now, and everything that has arrived is proven. */
const renew = (): void => {
  history.known = { uid: "lease", version: api.version, renewal: Number(api.version) };
};

async function start(): Promise<void> {
  informers = new InformerSet(
    { clock, log: new RecordingLog(), random: new SeededRandom(7) },
    {
      client: api,
      database,
      settings: { pageSize: 500, deltasPerObject: 16, decodedBytes: 100_000, limits },
      scope: { nodeSelector: undefined, namespaceSelector: undefined },
      history: Object.assign(history, {
        abandoned: abandoned.signal,
        doubt: () => history.lose(),
        prove: async () => {
          history.isLossAnswered = true;
        },
        follow: () => Promise.resolve(),
        listed: () => {},
        proveLists: () => Promise.resolve(),
      }) as unknown as ServerHistory,
    },
  );
  informers.informer(pods);
  stop = new AbortController();
  running = informers.run(stop.signal);
  await clock.advance("1s");
}

async function end(): Promise<void> {
  stop.abort(new Error("stopped"));
  await clock.settle();
  await running;
}

const known = (): readonly string[] =>
  [...informers.informer(pods).lister.list()].map(({ metadata }) => metadata.name).sort();
const lists = (): number => api.asked("list").length;
const lastFrom = (): string | undefined => api.asked("watch").at(-1)?.options.resourceVersion;

describe("after a connection breaks, a watch", () => {
  beforeEach(async () => {
    api.put(pods, pod("a"));
    await start();
    renew();
  });

  test("is resumed without a list on a server with the same history, and no change is reported twice", async () => {
    api.put(pods, pod("b"));
    api.put(pods, pod("c"));
    await clock.advance("100ms");
    const notified: string[] = [];
    informers.informer(pods).onChange((changes) => notified.push(...changes.map(({ key }) => key)));
    api.openWatch.break(refused("watch"));
    api.put(pods, pod("d"));
    await clock.advance("20s");
    expect(known()).toEqual(["a", "b", "c", "d"]);
    expect(notified).toEqual(["default/d"]);
    expect(lists()).toBe(1);
    expect(history.losses).toBe(2);
  });

  test("lists if the server lost the last moments and has already passed them", async () => {
    const { version } = api;
    api.put(pods, pod("phantom"));
    await clock.advance("100ms");
    api.openWatch.break(refused("watch"));
    api.remove(pods, "default/phantom");
    api.restore(Number(version));
    for (const name of ["x", "y", "z"]) api.put(pods, pod(name));
    await clock.advance("20s");
    expect(known()).toEqual(["a", "x", "y", "z"]);
    expect(lists()).toBe(2);
  });

  test("lists if the server lost a deletion", async () => {
    api.put(pods, pod("b"));
    renew();
    const { version } = api;
    const b = pod("b");
    api.remove(pods, "default/b");
    await clock.advance("100ms");
    expect(known()).toEqual(["a"]);
    api.openWatch.break(refused("watch"));
    api.put(pods, b);
    api.restore(Number(version));
    api.put(pods, pod("x"));
    await clock.advance("20s");
    expect(known()).toEqual(["a", "b", "x"]);
  });

  test("resumes at the Lease version even if it ended in order, because the process may have been suspended over a restore", async () => {
    renew();
    const leaseVersion = api.version;
    api.put(pods, pod("phantom"));
    await clock.advance("100ms");
    api.openWatch.close();
    api.remove(pods, "default/phantom");
    api.restore(Number(leaseVersion));
    for (const name of ["x", "y"]) api.put(pods, pod(name));
    await clock.advance("20s");
    expect(known()).toEqual(["a", "x", "y"]);
  });

  test("does not wait for proof if a new chain has begun, and lists even if it ended in order", async () => {
    await clock.advance("20s");
    history.chain = "d";
    await clock.advance("20s");
    expect(lists()).toBe(1);
    api.openWatch.close();
    await clock.advance("20s");
    expect(lists()).toBe(2);
    api.openWatch.close();
    await clock.advance("20s");
    expect(lists()).toBe(2);
  });

  test("does not wait for proof if other requests reach a server that may have another history", async () => {
    await clock.advance("20s");
    history.chain = "d";
    abandoned.abort();
    await clock.advance("20s");
    expect(lists()).toBe(2);
    expect(api.asked("list").at(-1)?.options.resourceVersion).toBeUndefined();
  });

  test("lists within two minutes if the server does not reach the previous position", async () => {
    const { version } = api;
    api.put(pods, pod("phantom"));
    await clock.advance("100ms");
    api.openWatch.break(refused("watch"));
    api.remove(pods, "default/phantom");
    api.restore(Number(version));
    api.sendsBookmarks = false;
    await clock.advance("120s");
    expect(known()).toEqual(["a"]);
  });

  test("is not live until the server has sent the earlier events again", async () => {
    api.put(pods, pod("b"));
    await clock.advance("100ms");
    const { version } = api;
    api.openWatch.break(refused("watch"));
    api.restore(Number(version) - 1);
    api.sendsBookmarks = false;
    await clock.advance("10s");
    expect(informers.informer(pods).health.connected).toBe(false);
  });
});

describe("an agent that was stopped", () => {
  test("resumes if a Lease version proves its position, and does not list", async () => {
    api.put(pods, pod("a"));
    await start();
    renew();
    await end();
    informers.storeProofs();
    api.put(pods, pod("b"));
    await start();
    expect(known()).toEqual(["a", "b"]);
    expect(lists()).toBe(1);
  });

  test("lists again if no Lease version proved its list", async () => {
    api.put(pods, pod("a"));
    await start();
    await end();
    await start();
    expect(lists()).toBe(2);
    expect(api.asked("list").at(-1)?.options.resourceVersion).toBeUndefined();
  });

  test("by a power cut begins at the last Lease version, and receives the later events again", async () => {
    api.put(pods, pod("a"));
    await start();
    renew();
    const leaseVersion = api.version;
    api.put(pods, pod("b"));
    await clock.advance("100ms");
    // Nothing is flushed: the next process finds what the transactions left.
    stop.abort();
    await start();
    expect(lastFrom()).toBe(leaseVersion);
    expect(known()).toEqual(["a", "b"]);
    renew();
    await clock.advance("11m");
    expect(lastFrom()).not.toBe(leaseVersion);
    expect(lists()).toBe(1);
  });

  test("lists the newest state if a new chain has begun", async () => {
    api.put(pods, pod("a"));
    await start();
    renew();
    await end();
    informers.storeProofs();
    history.chain = "d";
    await start();
    expect(lists()).toBe(2);
    expect(api.asked("list").at(-1)?.options.resourceVersion).toBeUndefined();
  });
});
