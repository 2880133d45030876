import { beforeEach, describe, expect, test } from "vitest";
import type { Lease } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import type { Resource } from "../../../agent/api/resources.ts";
import type { ListOptions } from "../../../agent/client/kube-client.ts";
import {
  type LeaseVersion,
  leaseVersionOf,
  ServerHistory,
  ServerRestoredError,
} from "../../../agent/informer/server-history.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { apiError, expired, refused } from "./fake-api.ts";

const never = new AbortController().signal;
const at = { namespace: "kube-system", name: "siteward-default" };

/** A store with one Lease in it: its states by version, newest last. */
class LeaseStore {
  readonly requests: string[] = [];
  states: Lease[] = [];
  compacted = 0;
  failure: Error | undefined;

  put(version: number, renewTime: string, uid = "uid-1"): Lease {
    const metadata = { ...at, uid, resourceVersion: String(version) };
    const lease: Lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { renewTime } };
    this.states.push(lease);
    return lease;
  }

  get<T extends KubeObject>(_: Resource<T>): Promise<T> {
    this.requests.push("get");
    if (this.failure) return Promise.reject(this.failure);
    const newest = this.states.at(-1);
    // It holds Leases only.
    return newest ? Promise.resolve(newest as KubeObject as T) : Promise.reject(apiError("get", 404, "NotFound"));
  }

  async list<T extends KubeObject>(_: Resource<T>, options: ListOptions, each: (object: T) => void) {
    this.requests.push(`list at ${options.resourceVersion}`);
    if (this.failure) throw this.failure;
    const wanted = Number(options.resourceVersion);
    if (wanted < this.compacted) throw expired("list");
    const then = this.states.findLast(({ metadata }) => Number(metadata.resourceVersion) <= wanted);
    if (then) each(then as KubeObject as T);
    return { resourceVersion: String(wanted), continue: undefined, items: 1, rejectedItems: 0, rejected: [] };
  }
}

let store: LeaseStore;
let noticed: string[];
let clock: FakeClock;
let read: string[];
let replaced: number;

beforeEach(() => {
  read = [];
  replaced = 0;
  store = new LeaseStore();
  noticed = [];
  clock = new FakeClock();
});

function historyWith(known: LeaseVersion | undefined, wasRestored = false): ServerHistory {
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(5) };
  return new ServerHistory(ambient, {
    client: store,
    at,
    read: ({ metadata }) => void read.push(metadata.resourceVersion),
    known: known && { leaseVersion: known, chain: "c" },
    restored: ({ message }) => void noticed.push(message),
    wasRestored,
    replaced: () => void replaced++,
    restoreForgotten: () => void noticed.push("restoreForgotten"),
  });
}

const morning = "2026-01-01T08:00:00.000000Z";
const noon = "2026-01-01T12:00:00.000000Z";
const evening = "2026-01-01T18:00:00.000000Z";

describe("a board that returns to a server", () => {
  test("whose Lease is unchanged reads it once, and this proves all its earlier knowledge", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await Promise.all([history.prove(never), history.prove(never)]);
    await history.prove(never);
    expect(store.requests).toEqual(["get"]);
    expect(read).toEqual(["400"]);
    expect(history.chain).toBe("c");
  });

  test("whose Lease others have written reads its earlier version", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.put(900, noon);
    await history.prove(never);
    expect(store.requests).toEqual(["get", "list at 400"]);
    expect(history.known?.version).toBe("900");
    expect(history.chain).toBe("c");
  });

  test("that no longer has the earlier version begins a new chain, and does not report a restore", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    const { abandoned } = history;
    store.put(900, noon);
    store.compacted = 800;
    await history.prove(never);
    expect(history.known?.version).toBe("900");
    expect(history.chain).not.toBe("c");
    // Streams that are open may come from another server. Those that open now do not.
    expect([abandoned.aborted, history.abandoned.aborted]).toEqual([true, false]);
    expect(noticed).toEqual([]);
  });

  test.each([403, 404, 405])("that responds to the read of its Lease with %i begins a new chain", async (status) => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.put(900, noon);
    const { list } = store;
    store.list = () => Promise.reject(apiError("list", status, "No"));
    const { abandoned } = history;
    await history.prove(never);
    store.list = list;
    expect(history.chain).not.toBe("c");
    // It would be the same with every renewal: what is open stays open.
    expect(abandoned.aborted).toBe(false);
  });

  test("without a Lease begins a new chain", async () => {
    const history = historyWith({ uid: "uid-1", version: "400", renewal: 1 });
    await history.prove(never);
    expect(history.known).toBeUndefined();
    expect(history.chain).not.toBe("c");
    expect(replaced).toBe(1);
  });

  test("that has another Lease, and no earlier versions any more, may have been restored from a backup, which is reported", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.put(1_000_000_400, noon, "uid-2");
    store.compacted = 1_000_000_300;
    await history.prove(never);
    expect([history.chain === "c", replaced, noticed]).toEqual([false, 1, []]);
  });

  test("whose Lease was deleted and recreated reads the previous one, and continues", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.put(900, noon, "uid-2");
    await history.prove(never);
    expect(history.chain).toBe("c");
    expect([noticed, replaced]).toEqual([[], 0]);
  });

  test.each([
    ["has a lower version", (): unknown => store.put(300, morning), /went back from version 400 to 300/],
    [
      "has reached the same version by other writes",
      () => store.put(400, evening),
      /differs from the one read earlier with the same version/,
    ],
    [
      "was a different Lease then",
      () => [store.put(300, morning), store.put(900, evening)],
      /at version 400 the store has another version/,
    ],
    ["did not exist then", () => store.put(900, evening), /at version 400 the store has no such Lease/],
    ["is a different Lease with a lower version", () => store.put(300, evening, "uid-2"), /went back/],
  ])("whose Lease %s recognises a restore, and reports it once", async (_, restore, message) => {
    const history = historyWith({ uid: "uid-1", version: "400", renewal: Date.parse(noon) });
    history.confirmCluster();
    restore();
    const watching = history.untilRestored(never);
    await expect(history.prove(never)).rejects.toThrow(ServerRestoredError);
    await expect(history.prove(never)).rejects.toThrow(ServerRestoredError);
    await expect(watching).rejects.toThrow(message);
    expect(noticed).toHaveLength(1);
  });

  test("that does not respond reads it again, and nothing is settled until there is a response", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.failure = refused("get");
    await expect(history.prove(never)).rejects.toThrow();
    store.failure = undefined;
    await history.prove(never);
    expect(store.requests).toEqual(["get", "get"]);
  });
});

describe("a leader that renews", () => {
  test("advances with each of its writes and reads nothing", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    history.recordOwnWrite("400", { uid: "uid-1", version: "410", renewal: 2 }, history.doubts, clock.now());
    history.recordOwnWrite("410", { uid: "uid-1", version: "425", renewal: 3 }, history.doubts, clock.now());
    await history.prove(never);
    expect(history.known?.version).toBe("425");
    expect(store.requests).toEqual(["get"]);
  });

  test("keeps knowledge from before a lost connection apart from its writes since", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    history.recordOwnWrite("400", leaseVersionOf(store.put(410, noon)), history.doubts, clock.now());
    const { doubts } = history;
    history.doubt();
    history.recordOwnWrite("410", leaseVersionOf(store.put(420, evening)), doubts, clock.now());
    expect([history.knownDuring(0)?.version, history.known?.version]).toEqual(["410", "420"]);
    expect(history.knownDuring(1)).toBeUndefined();
    expect(history.isLossAnswered).toBe(false);
  });

  test("has its proof after a lost connection in a write that succeeds, and reads nothing", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    history.doubt();
    history.recordOwnWrite("400", leaseVersionOf(store.put(410, noon)), history.doubts, clock.now());
    await history.prove(never);
    expect([0, 1].map((losses) => history.knownDuring(losses)?.version)).toEqual(["400", "410"]);
    expect(history.isLossAnswered).toBe(true);
    expect(store.requests).toEqual(["get"]);
  });

  test("does not have proof in a write that was sent before the connection was lost", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    const { doubts } = history;
    history.doubt();
    history.recordOwnWrite("400", leaseVersionOf(store.put(410, noon)), doubts, clock.now());
    await history.prove(never);
    expect(store.requests).toEqual(["get", "get"]);
  });

  test("and reads a lower version after a conflict immediately knows that the server was restored", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    expect(() => history.observe({ uid: "uid-1", version: "342", renewal: 1 })).toThrow(ServerRestoredError);
  });

  test("and recreates the Lease with a lower version immediately knows that the server was restored", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    history.confirmCluster();
    store.states = [];
    expect(() =>
      history.recordOwnWrite(undefined, leaseVersionOf(store.put(300, noon, "uid-2")), history.doubts, clock.now()),
    ).toThrow(ServerRestoredError);
    await expect(history.untilRestored(never)).rejects.toThrow(/went back from version 400 to 300/);
    expect(noticed).toHaveLength(1);
  });

  test("and recreates the Lease before the cluster is known draws its conclusion only once it is", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    store.states = [];
    history.recordOwnWrite(undefined, leaseVersionOf(store.put(300, noon, "uid-2")), history.doubts, clock.now());
    expect(noticed).toEqual([]);
    expect(() => history.confirmCluster()).toThrow(ServerRestoredError);
  });

  test("and reads another Lease below its own waits until it knows whether this is another cluster", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    store.states = [];
    const other = leaseVersionOf(store.put(300, noon, "uid-2"));
    history.observe(other);
    await history.prove(never);
    history.observe(other);
    expect([noticed, history.chain === "c"]).toEqual([[], false]);
    expect(() => history.confirmCluster()).toThrow(ServerRestoredError);
  });

  test("adds another writer's change to the chain once it is read", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    await history.prove(never);
    history.observe(leaseVersionOf(store.put(450, noon)));
    history.recordOwnWrite("450", leaseVersionOf(store.put(460, evening)), history.doubts, clock.now());
    expect(history.known?.version).toBe("400");
    await history.prove(never);
    expect(history.known?.version).toBe("460");
    expect(store.requests).toEqual(["get", "get", "list at 400"]);
  });

  test("is not misled by a response older than its last write", async () => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)));
    const asked = history.prove(never);
    history.recordOwnWrite("400", { uid: "uid-1", version: "410", renewal: 2 }, history.doubts, clock.now());
    await asked;
    expect(history.known?.version).toBe("410");
    expect(noticed).toEqual([]);
  });
});

test("proves three simultaneous lists with one renewal", async () => {
  const history = historyWith(undefined);
  const stop = new AbortController();
  let [proven, renewals] = [0, 0];
  const renew = (): Promise<void> => {
    renewals++;
    return Promise.resolve();
  };
  const proving = history.proveLists(stop.signal, { renew, proven: () => void proven++ });
  for (let list = 0; list < 3; list++) history.listed();
  await clock.advance(400);
  expect(renewals).toBe(0);
  await clock.advance(200);
  expect([renewals, proven]).toEqual([1, 1]);
  await clock.advance(60_000);
  expect(renewals).toBe(1);
  history.listed();
  stop.abort();
  await proving;
  expect(renewals).toBe(1);
});

describe("after a restore, while API servers may serve older data from their caches", () => {
  const settled = async (wasRestored = true): Promise<ServerHistory> => {
    const history = historyWith(leaseVersionOf(store.put(400, morning)), wasRestored);
    await history.prove(never);
    return history;
  };
  /** Told by each of its streams; the next renewal goes through. */
  const loseConnection = (history: ServerHistory): void => {
    for (let stream = 0; stream < 3; stream++) history.doubt();
    const from = history.known?.version;
    history.recordOwnWrite(
      from,
      { uid: "uid-1", version: String(Number(from) + 10), renewal: 2 },
      history.doubts,
      clock.now(),
    );
  };

  test("a lost connection begins a new chain, although the Lease proves the history", async () => {
    const history = await settled();
    const { chain } = history;
    loseConnection(history);
    await history.prove(never);
    expect(history.chain).not.toBe(chain);
    expect(history.known?.version).toBe("410");
  });

  test("a new process lists the current state", async () => {
    const history = await settled();
    expect(history.chain).not.toBe("c");
  });

  test("a link that breaks repeatedly costs eight lists, and one at the end", async () => {
    const history = await settled();
    const chains = new Set([history.chain]);
    const stop = new AbortController();
    const watching = history.untilRestored(stop.signal);
    for (let loss = 0; loss < 20; loss++) {
      loseConnection(history);
      chains.add(history.chain);
    }
    expect(chains.size).toBe(9);
    await clock.advance("59m");
    expect([chains.has(history.chain), noticed]).toEqual([true, []]);
    await clock.advance("2m");
    expect([chains.has(history.chain), noticed]).toEqual([false, ["restoreForgotten"]]);
    chains.add(history.chain);
    loseConnection(history);
    expect(chains.has(history.chain)).toBe(true);
    stop.abort();
    await watching;
  });

  test("a lost connection does not begin a new chain if the server was not restored", async () => {
    const history = await settled(false);
    loseConnection(history);
    expect(history.chain).toBe("c");
  });
});
