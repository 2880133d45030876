import { describe, expect, test } from "vitest";
import type { Ambient } from "../../../agent/base/ambient.ts";
import { isPostponed } from "../../../agent/base/postponed.ts";
import { type ActEffect, ValveBook } from "../../../agent/holds/valve-book.ts";
import { ValveMemory } from "../../../agent/holds/valve-memory.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

/** The site's Lease, as far as it carries the valve. */
class SharedLease {
  uid = "lease-1";
  text: string | undefined;
  writes = 0;
}

/** The part of a board's disk that survives a process. */
class Disk {
  readonly facts = new Map<string, string>();
  boot = "boot-1";
  writes = 0;

  get = (area: string, key: string) => this.facts.get(`${area}/${key}`);
  set = (area: string, key: string, value: string): void => {
    this.writes++;
    this.facts.set(`${area}/${key}`, value);
  };
}

class Board {
  readonly clock: FakeClock;
  readonly lease: SharedLease;
  readonly memory: ValveMemory;
  readonly book: ValveBook;
  readonly changes: boolean[] = [];
  limit = 3;
  isCut = false;

  constructor(lease = new SharedLease(), clock = new FakeClock(), disk = new Disk()) {
    this.clock = clock;
    this.lease = lease;
    const ambient: Ambient = { clock, random: new SeededRandom(), log: new RecordingLog() };
    this.memory = new ValveMemory(ambient, {
      facts: disk,
      bootId: disk.boot,
      lease: "kube-system/siteward-default",
    });
    this.book = new ValveBook(ambient, {
      memory: this.memory,
      publish: () => this.renew(),
      changed: (isHolding) => this.changes.push(isHolding),
    });
  }

  async renew(): Promise<void> {
    const text = this.book.carried();
    await new Promise<void>((resolve) => this.clock.after(20, resolve));
    if (this.isCut) return new Promise(() => {});
    this.lease.text = text;
    this.lease.writes++;
  }

  async renewed(): Promise<void> {
    void this.renew();
    await this.clock.advance("1s");
  }

  get found() {
    return { lease: this.lease.uid, written: this.clock.now() };
  }

  lead({ isFirst = false } = {}): this {
    this.book.begin(this.lease.text, this.found, isFirst);
    return this;
  }

  read(): void {
    this.book.saw(this.lease.text, this.found);
  }

  /** Asks for acts on these objects, all at once, and returns which were admitted. */
  async ask(...objects: readonly string[]): Promise<((effect: ActEffect) => void)[]> {
    const answers = Promise.allSettled(objects.map((object) => this.book.admit(object, () => this.limit)));
    await this.clock.advance(this.isCut ? "41s" : "11s");
    return (await answers).flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  async act(...objects: readonly string[]): Promise<number> {
    const admitted = await this.ask(...objects);
    for (const settle of admitted) settle("done");
    return admitted.length;
  }
}

const leader = (): Board => new Board().lead({ isFirst: true });

describe("the safety valve", () => {
  test("admits as many acts as permitted, and one more only after an hour", async () => {
    const board = leader();
    expect(await board.act("a", "b")).toBe(2);
    await board.clock.advance("10m");
    expect(await board.act("c", "d", "e")).toBe(1);
    await board.clock.advance("49m");
    expect(await board.act("d")).toBe(0);
    await board.clock.advance("3m");
    expect(await board.act("d", "e", "f")).toBe(2);
  });

  test("holds the other acts without making them fail, and reports that", async () => {
    const board = leader();
    await board.act("a", "b", "c");
    const answer = board.book.admit("d", () => board.limit);
    await expect(answer).rejects.toSatisfy(isPostponed);
    board.book.observe(false);
    expect(board.book.holdingSince).toEqual(board.clock.now());
    expect(board.changes).toEqual([true]);
    await board.clock.advance("2m");
    board.book.observe(true);
    expect(board.changes).toEqual([true]);
    board.book.observe(false);
    expect(board.changes).toEqual([true, false]);
  });

  test("counts acts that are under way", async () => {
    const board = leader();
    expect(await board.ask("a", "b", "c")).toHaveLength(3);
    expect(await board.ask("d")).toHaveLength(0);
  });

  test("does not count an act that certainly had no effect, and immediately admits another one in its place", async () => {
    const board = leader();
    const [a, b] = await board.ask("a", "b", "c");
    a?.("none");
    b?.("none");
    const { writes } = board.lease;
    expect(await board.ask("d")).toHaveLength(1);
    expect(board.lease.writes).toBe(writes);
    expect(await board.ask("e", "f")).toHaveLength(1);
  });

  test("counts an act only once if it is repeated because its answer was lost", async () => {
    const board = leader();
    const [a, b] = await board.ask("a", "b");
    a?.("uncertain");
    b?.("uncertain");
    await board.clock.advance("1m");
    expect(await board.act("a")).toBe(1);
    expect(board.book.view(3, board.clock.now()).acts).toBe(2);
    // The conflict shows that the first attempt took effect.
    const [again] = await board.ask("b");
    again?.("none");
    expect(board.book.view(3, board.clock.now()).acts).toBe(2);
    expect(await board.act("c", "d")).toBe(1);
  });

  test("does not pass a place on if a smaller limit is reached in the meantime", async () => {
    const board = leader();
    const [a] = await board.ask("a", "b", "c");
    a?.("none");
    board.limit = 2;
    expect(await board.ask("d")).toHaveLength(0);
  });

  test("holds nothing while the limit is infinite, but still counts", async () => {
    const board = leader();
    board.limit = Number.POSITIVE_INFINITY;
    expect(await board.act(..."abcdefgh")).toBe(8);
    board.limit = 5;
    expect(await board.act("i")).toBe(0);
    expect(board.book.view(5, board.clock.now())).toMatchObject({ acts: 8, isUnknown: false });
  });

  test("writes each act to the Lease before it is sent, and nothing else", async () => {
    const board = leader();
    await board.ask("a", "b");
    expect(JSON.parse(board.lease.text ?? "")).toEqual({ v: 1, total: 2, acts: [], admitted: 2 });
    expect(board.lease.writes).toBe(1);
    await board.clock.advance("1h");
    expect(board.lease.writes).toBe(1);
  });

  test("does not send or count an act that cannot be written to the Lease", async () => {
    const board = leader();
    board.isCut = true;
    expect(await board.ask("a")).toHaveLength(0);
    board.isCut = false;
    expect(await board.act("a", "b", "c", "d")).toBe(3);
  });
});

describe("the next leader", () => {
  test("continues with what the first one left, in the middle of the hour", async () => {
    const first = leader();
    await first.act("a", "b");
    await first.clock.advance("30m");
    await first.renewed();
    const next = new Board(first.lease, first.clock);
    await first.clock.advance("1m");
    next.lead();
    expect(await next.act("c", "d")).toBe(1);
    await first.clock.advance("27m");
    expect(await next.act("d")).toBe(0);
    await first.clock.advance("6m");
    expect(await next.act("d", "e", "f")).toBe(2);
  });

  test("counts acts that were under way when the first one lost its power, even if they arrive later", async () => {
    const first = leader();
    await first.ask("a", "b");
    const next = new Board(first.lease, first.clock).lead();
    expect(await next.act("c", "d")).toBe(1);
  });

  test("is not confused by answers to acts of an earlier term", async () => {
    const board = leader();
    const [a, b] = await board.ask("a", "b");
    board.book.end();
    board.lead();
    a?.("none");
    b?.("done");
    expect(board.book.view(3, board.clock.now()).acts).toBe(2);
  });

  test("admits nothing after its term", async () => {
    const board = leader();
    board.book.end();
    await expect(board.book.admit("a", () => 9)).rejects.toThrow("does not lead");
    expect(board.book.carried()).toBeUndefined();
  });
});

describe("a Lease that lost its record", () => {
  test("is given what the leader remembers", async () => {
    const board = leader();
    await board.act("a", "b");
    board.book.end();
    board.lease.text = undefined;
    board.lease.uid = "lease-2";
    board.lead();
    expect(await board.act("c", "d")).toBe(1);
  });

  test("is given what the leader had under way when its term ended", async () => {
    const board = leader();
    await board.ask("a", "b");
    board.book.end();
    board.lease.text = undefined;
    board.lead();
    expect(await board.act("c", "d")).toBe(1);
  });

  test("is given what a follower read on it", async () => {
    const first = leader();
    const next = new Board(first.lease, first.clock);
    await first.act("a", "b");
    next.read();
    first.lease.text = undefined;
    next.lead();
    expect(await next.act("c", "d")).toBe(1);
  });

  test("permits nothing for an hour if no board remembers it, and says why", async () => {
    const board = new Board().lead();
    expect(await board.act("a")).toBe(0);
    expect(board.book.view(3, board.clock.now())).toMatchObject({ acts: 0, isUnknown: true });
    await board.renewed();
    const next = new Board(board.lease, board.clock);
    await board.clock.advance("30m");
    next.lead();
    expect(await next.act("a")).toBe(0);
    // Nothing shows for how long no board led.
    await board.clock.advance("62m");
    expect(await next.act("a")).toBe(1);
  });

  test("permits nothing for an hour if its text is invalid", async () => {
    const board = new Board();
    board.lease.text = '{"v":1,"total":0,"acts":"none"}';
    expect(await board.lead().act("a")).toBe(0);
  });

  test("permits nothing for an hour if what this board remembers is old", async () => {
    const board = leader();
    await board.act("a");
    board.book.end();
    board.lease.text = undefined;
    await board.clock.advance("4m");
    expect(await board.lead().act("b")).toBe(0);
  });
});

describe("a text that another client wrote on the Lease", () => {
  test.each([
    ["that denies all acts and claims to be the newest", `{"v":1,"total":${Number.MAX_SAFE_INTEGER},"acts":[]}`],
    ["that claims more acts than any site does", '{"v":1,"total":9,"acts":[[0,1000000000]]}'],
    ["that cannot be read", "[]"],
  ])("neither opens nor shuts the valve permanently: %s", async (_, text) => {
    const first = leader();
    const follower = new Board(first.lease, first.clock);
    first.lease.text = text;
    follower.read();
    // The leader writes its own count again with the next act.
    await first.act("a", "b");
    follower.read();
    first.book.end();
    follower.lead();
    expect(await follower.act("c", "d")).toBeLessThanOrEqual(1);
    await first.clock.advance("62m");
    expect(await follower.act("e", "f", "g")).toBe(3);
    follower.book.end();
    const next = new Board(first.lease, first.clock).lead();
    expect(await next.act("h")).toBe(0);
    await first.clock.advance("62m");
    expect(await next.act("h")).toBe(1);
  });
});

describe("a Lease that was restored from a backup", () => {
  test("does not refill the valve of a board that has led since, even after a reboot", async () => {
    const disk = new Disk();
    const board = new Board(undefined, undefined, disk).lead({ isFirst: true });
    await board.act("a");
    const backup = board.lease.text;
    await board.act("b", "c");
    board.lease.text = backup;
    disk.boot = "boot-2";
    const rebooted = new Board(board.lease, board.clock, disk).lead();
    expect(await rebooted.act("d")).toBe(0);
  });

  test("does not refill the valve of a follower that has read the Lease since", async () => {
    const first = leader();
    await first.act("a");
    const backup = first.lease.text;
    const next = new Board(first.lease, first.clock);
    await first.act("b", "c");
    next.read();
    first.lease.text = backup;
    next.read();
    next.lead();
    expect(await next.act("d")).toBe(0);
  });

  test("does not hide acts that another board has done since from a board that remembers more", async () => {
    const first = leader();
    const next = new Board(first.lease, first.clock);
    await first.act("a", "b", "c");
    next.read();
    first.book.end();
    first.lease.text = '{"v":1,"total":0,"acts":[]}';
    await first.clock.advance("2h");
    const other = new Board(first.lease, first.clock).lead();
    expect(await other.act("d", "e")).toBe(2);
    next.read();
    next.lead();
    expect(await next.act("f", "g")).toBe(1);
  });

  test("permits nothing for an hour if this board noticed the restore and its own copy is not recent", async () => {
    const disk = new Disk();
    const board = leader();
    await board.renewed();
    const next = new Board(board.lease, board.clock, disk);
    next.memory.restored();
    expect(await next.lead().act("a")).toBe(0);
    expect(next.book.view(3, next.clock.now()).isUnknown).toBe(true);
    next.book.end();
    await board.clock.advance("63m");
    const much = new Board(board.lease, board.clock, disk);
    much.lease.text = '{"v":1,"total":0,"acts":[]}';
    expect(await much.lead().act("a")).toBe(1);
  });

  test("continues with what this board remembers if that is recent and nothing has been admitted since", async () => {
    const board = leader();
    await board.act("a", "b");
    board.book.end();
    board.memory.restored();
    expect(await board.lead().act("c", "d")).toBe(1);
  });

  test("is not affected by what this board remembers of another cluster", async () => {
    const disk = new Disk();
    const board = new Board(undefined, undefined, disk).lead({ isFirst: true });
    await board.act("a", "b", "c");
    const elsewhere = new SharedLease();
    elsewhere.uid = "lease-of-another-plant";
    elsewhere.text = '{"v":1,"total":1,"acts":[]}';
    expect(await new Board(elsewhere, board.clock, disk).lead().act("d")).toBe(1);
  });
});

test("a calm site does not cost disk writes, and a follower stores at most one copy a minute", async () => {
  const disk = new Disk();
  const first = leader();
  await first.renewed();
  const next = new Board(first.lease, first.clock, disk);
  for (let read = 0; read < 60; read++) {
    next.read();
    await first.clock.advance("10s");
  }
  expect(disk.writes).toBe(0);
  first.limit = 100;
  for (let act = 0; act < 6; act++) {
    await first.act(`pod-${act}`);
    next.read();
  }
  expect(disk.writes).toBeLessThanOrEqual(2);
});
