import { describe, expect, test } from "vitest";
import { leases, nodes } from "../../../../agent/api/resources.ts";
import type { Author, Effect } from "../../../../agent/commands/desk/controls.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { HoldControls } from "../../../../agent/commands/operations/hold-controls.ts";
import { HoldBook } from "../../../../agent/holds/hold-book.ts";
import { HoldMemory } from "../../../../agent/holds/hold-memory.ts";
import { freezeOn, runningRelease } from "../../../../agent/holds/holds.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const alice: Author = { by: "ops:alice", reason: "radio maintenance" };
const hour = 3_600_000;
const order = { dryRun: false, signal: new AbortController().signal };
const site = { scope: "site" } as const;

/** The leader of a site whose zone "a" has one board. Each write of the Lease waits until the test answers it. */
class Leader {
  readonly clock = new FakeClock();
  readonly events: string[] = [];
  readonly controls: HoldControls;
  readonly book: HoldBook;
  /** What the Lease has. */
  lease: string | undefined;
  /** The states that have been in force, in order. */
  readonly inForce: string[] = [];
  readonly #writes: (() => void)[] = [];

  constructor() {
    const ambient = { clock: this.clock, random: new SeededRandom(), log: new RecordingLog() };
    const facts = { get: () => undefined, set: () => {} };
    this.book = new HoldBook(ambient, {
      memory: new HoldMemory(ambient, { facts, bootId: "boot-1", lease: "kube-system/siteward-default" }),
      renewal: 10_000,
      recovery: 600_000,
      quietHoursAt: undefined,
      publish: () => new Promise((resolve) => this.#writes.push(resolve)),
      changed: () => this.inForce.push(this.state),
      over: () => {},
    });
    this.book.begin(undefined, { lease: "lease-1", written: this.clock.now() });
    const node = { metadata: { name: "pi-1", labels: { "topology.kubernetes.io/zone": "a" } } };
    const listers = new Map<unknown, object>([
      [nodes, { list: () => [node], get: () => node }],
      [leases, { get: () => undefined }],
    ]);
    // Only what orders about holds use.
    this.controls = new HoldControls({
      ...{ ambient, holds: this.book, config: { judgement: { recovery: 600_000 } } },
      valve: { holdingSince: undefined },
      caches: { informer: (resource: unknown) => ({ lister: listers.get(resource) }) },
      current: { loops: [{ stats: () => ({ name: "pod-gc" }) }] },
      elector: { lease: {} },
      announce: ({ reason }: { reason: string }) => void this.events.push(reason),
    } as unknown as OperationsDeps);
  }

  /** The server answers the write under way. */
  async answer(): Promise<void> {
    await this.clock.settle();
    this.lease = this.book.carried();
    for (const resolve of this.#writes.splice(0)) resolve();
    await this.clock.settle();
  }

  get isWriting(): boolean {
    return this.#writes.length > 0;
  }

  /** Confirms the zone without its checks, which need a whole site. */
  confirm(): Promise<unknown> {
    const end = { mono: this.clock.now().mono + hour, wall: 0 };
    const hold = { end, by: "ops:alice", reason: undefined, foreign: {}, lastSigns: new Set(["aaaaaa"]) };
    return this.book.change((holds) => ({ ...holds, confirmed: new Map([["a", hold]]) }), {
      effect: "once written",
      signal: order.signal,
    });
  }

  get state(): string {
    const now = this.clock.now();
    const { confirmed, pauses } = this.book.ordered;
    return [
      ...(freezeOn(this.book.ordered, { board: "pi-1", zone: "a" }, now) ? ["frozen"] : []),
      ...(pauses.size > 0 ? ["paused"] : []),
      ...(confirmed.size > 0 ? ["confirmed"] : []),
      ...(runningRelease(this.book.ordered, now) ? ["released"] : []),
    ].join();
  }
}

function result(effect: Effect | undefined): unknown {
  return effect?.outcome === "done" ? effect.result : effect;
}

describe("an order that withdraws an earlier one counts even if that one is not on the Lease yet", () => {
  test.each([
    {
      name: "a release of the valve",
      begin: (leader: Leader) => leader.controls.releaseValve(hour, alice, order),
      end: (leader: Leader) => leader.controls.rearmValve(alice, order),
      found: { wasReleased: true },
      event: "SafetyValveRearmed",
    },
    {
      name: "a confirmation",
      begin: (leader: Leader) => leader.confirm(),
      end: (leader: Leader) => leader.controls.unconfirmZoneDead("a", alice, order),
      found: { zone: "a", wasConfirmed: true },
      event: "ZoneConfirmationWithdrawn",
    },
    {
      name: "a freeze",
      begin: (leader: Leader) => leader.controls.freeze(site, hour, alice, order),
      end: (leader: Leader) => leader.controls.thaw(site, alice, order),
      found: { scope: "site", wasFrozen: true, stillFrozen: ["board/pi-2"] },
      event: "EvictionThawed",
    },
    {
      name: "a pause",
      begin: (leader: Leader) => leader.controls.pause("pod-gc", hour, alice, order),
      end: (leader: Leader) => leader.controls.resume("pod-gc", alice, order),
      found: { controller: "pod-gc", wasPaused: true },
      event: "ControllerResumed",
    },
  ])("$name", async ({ begin, end, found, event }) => {
    const leader = new Leader();
    // Another change is being written, so both orders wait for their turn.
    const other = leader.controls.freeze({ scope: "board", target: "pi-2" }, hour, alice, order);
    const begun = begin(leader);
    const ended = end(leader);
    for (let write = 0; write < 3; write++) await leader.answer();
    expect(result(await ended)).toEqual(found);
    await Promise.all([other, begun]);
    expect(leader.state).toBe("");
    expect(leader.inForce.filter((state) => /confirmed|released/.test(state))).toEqual([]);
    expect(JSON.parse(leader.lease ?? "")).toMatchObject({ changes: 3, pauses: {}, confirmed: {} });
    expect(JSON.parse(leader.lease ?? "").release).toBeUndefined();
    expect(leader.events.at(-1)).toBe(event);
  });

  test("and a dry run of it says so", async () => {
    const leader = new Leader();
    void leader.controls.releaseValve(hour, alice, order);
    const dry = { ...order, dryRun: true };
    expect(result(await leader.controls.rearmValve(alice, dry))).toEqual({ wasReleased: true });
  });
});

describe("an order that finds nothing to withdraw", () => {
  test("is answered without a write or an Event", async () => {
    const leader = new Leader();
    const orders = [
      leader.controls.rearmValve(alice, order),
      leader.controls.unconfirmZoneDead("a", alice, order),
      leader.controls.thaw(site, alice, order),
      leader.controls.resume("pod-gc", alice, order),
    ];
    expect((await Promise.all(orders)).map(result)).toEqual([
      { wasReleased: false },
      { zone: "a", wasConfirmed: false },
      { scope: "site", wasFrozen: false, stillFrozen: [] },
      { controller: "pod-gc", wasPaused: false },
    ]);
    expect([leader.isWriting, leader.events]).toEqual([false, []]);
  });

  test("is written nevertheless while the Lease may have a release that was undone", async () => {
    const leader = new Leader();
    const release = leader.controls.releaseValve(hour, alice, order);
    await leader.clock.settle();
    leader.lease = leader.book.carried();
    await leader.clock.advance("16s");
    expect(await release).toMatchObject({ outcome: "failed", error: "not-written" });
    const rearm = leader.controls.rearmValve(alice, order);
    await leader.answer();
    expect(result(await rearm)).toEqual({ wasReleased: false });
    expect(JSON.parse(leader.lease ?? "").release).toBeUndefined();
    expect(result(await leader.controls.rearmValve(alice, order))).toEqual({ wasReleased: false });
    expect(leader.events).toEqual([]);
  });
});

describe("a restriction", () => {
  test.each([
    ["a freeze", "frozen", (leader: Leader) => leader.controls.freeze(site, hour, alice, order)],
    ["a pause", "paused", (leader: Leader) => leader.controls.pause("pod-gc", hour, alice, order)],
  ])("takes effect at once although another order is being written: %s", async (_, state, give) => {
    const leader = new Leader();
    void leader.confirm();
    const given = give(leader);
    await leader.clock.settle();
    expect(leader.state).toBe(state);
    await leader.answer();
    expect(leader.state).toContain(state);
    await leader.answer();
    expect((await given).outcome).toBe("done");
    expect(leader.state).toBe(state === "frozen" ? "frozen,confirmed" : "paused,confirmed");
  });

  test("withdraws a release at once although another order is being written", async () => {
    const leader = new Leader();
    void leader.controls.releaseValve(hour, alice, order);
    await leader.answer();
    expect(leader.state).toBe("released");
    void leader.controls.pause("pod-gc", hour, alice, order);
    void leader.controls.rearmValve(alice, order);
    await leader.clock.settle();
    expect(leader.state).toBe("paused");
  });

  test("is still in force after an earlier thaw, and ends with a later one", async () => {
    const leader = new Leader();
    void leader.controls.freeze(site, hour, alice, order);
    await leader.answer();
    const orders = [
      leader.controls.thaw(site, alice, order),
      leader.controls.freeze(site, 2 * hour, alice, order),
      leader.controls.thaw(site, alice, order),
    ];
    await leader.answer();
    expect(leader.state).toBe("frozen");
    await leader.answer();
    expect(leader.state).toBe("frozen");
    await leader.answer();
    expect(leader.state).toBe("");
    expect((await Promise.all(orders)).map(({ outcome }) => outcome)).toEqual(["done", "done", "done"]);
    expect(leader.inForce.slice(1, -1).every((state) => state === "frozen")).toBe(true);
  });

  test("that cannot be written is undone, and the changes before and after it stay", async () => {
    const leader = new Leader();
    const pause = leader.controls.pause("pod-gc", hour, alice, order);
    const freeze = leader.controls.freeze(site, hour, alice, order);
    const release = leader.controls.releaseValve(hour, alice, order);
    await leader.answer();
    await leader.clock.advance("16s");
    expect(await freeze).toMatchObject({ outcome: "failed", error: "not-written" });
    expect(leader.state).toBe("paused");
    await leader.answer();
    expect([(await pause).outcome, (await release).outcome]).toEqual(["done", "done"]);
    expect(leader.state).toBe("paused,released");
  });

  test("waits for its turn no matter whether its order has been answered by then", async () => {
    const leader = new Leader();
    void leader.controls.pause("pod-gc", hour, alice, order);
    const over = new AbortController();
    const freeze = leader.controls.freeze(site, hour, alice, { dryRun: false, signal: over.signal });
    await leader.clock.settle();
    over.abort(new Error("answered"));
    await leader.answer();
    await leader.answer();
    expect((await freeze).outcome).toBe("done");
    expect(JSON.parse(leader.lease ?? "").freezes.site).toBeDefined();
  });

  test("ends with the term if it still waits for its turn", async () => {
    const leader = new Leader();
    const pause = leader.controls.pause("pod-gc", hour, alice, order);
    const freeze = leader.controls.freeze(site, hour, alice, order);
    await leader.clock.settle();
    leader.book.end();
    expect(leader.state).toBe("");
    leader.book.begin('{"v":1}', { lease: "lease-1", written: leader.clock.now() });
    await leader.answer();
    for (const effect of [await pause, await freeze])
      expect(effect).toMatchObject({ outcome: "failed", error: "not-written" });
    expect(leader.state).toBe("");
  });
});

test("an undone change counts, so a board that has read it does not take the undoing for a restore", async () => {
  const leader = new Leader();
  void leader.controls.freeze(site, hour, alice, order);
  await leader.answer();
  const thaw = leader.controls.thaw(site, alice, order);
  await leader.clock.settle();
  const thawed = JSON.parse(leader.book.carried() ?? "");
  await leader.clock.advance("16s");
  expect((await thaw).outcome).toBe("failed");
  const undone = JSON.parse(leader.book.carried() ?? "");
  expect(undone.changes).toBeGreaterThanOrEqual(thawed.changes);
  expect(undone.freezes.site.left).toBeGreaterThan(0);
});
