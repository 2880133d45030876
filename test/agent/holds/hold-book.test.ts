import { describe, expect, test } from "vitest";
import { type Instant, type Millis, shifted } from "../../../agent/base/clock.ts";
import { TaskGroup } from "../../../agent/base/tasks.ts";
import { holdsAnnotation } from "../../../agent/election/lease-lock.ts";
import { type Ended, HoldBook, type Quiet } from "../../../agent/holds/hold-book.ts";
import { freezeOn, type Holds, isRunning } from "../../../agent/holds/holds.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { type Board, Election } from "../election/support/election.ts";

const anywhere = { board: "pi-9", zone: "a" };

/** What survives a process on a board's disk, and what tells its boots apart. */
class Disk {
  readonly facts = new Map<string, string>();
  boot = "boot-1";
  writes = 0;
  isFull = false;

  get = (area: string, key: string) => this.facts.get(`${area}/${key}`);
  set = (area: string, key: string, value: string): void => {
    if (this.isFull) throw new Error("no space left on device");
    this.writes++;
    this.facts.set(`${area}/${key}`, value);
  };
}

/** A board that stands for election and keeps what operators hold back, as the agent puts both together. */
class Member {
  readonly board: Board;
  readonly book: HoldBook;
  readonly over: Ended[] = [];
  changes = 0;
  quiet: Quiet | undefined;

  constructor(site: Election, name: string, disk = new Disk()) {
    const ambient = (): ConstructorParameters<typeof HoldBook>[0] => ({
      clock: { now: () => this.board.clock.now(), after: (delay, run) => this.board.clock.after(delay, run) },
      random: { next: () => 0, uuid: () => "" },
      log: { error() {}, warn() {}, info() {}, debug() {}, child: () => ambient().log },
    });
    this.book = new HoldBook(ambient(), {
      facts: disk,
      bootId: disk.boot,
      lease: "kube-system/siteward-default",
      recovery: 600_000,
      isQuiet: () => this.quiet,
      publish: () => this.board.elector.renewNow(),
      changed: () => void this.changes++,
      over: (what) => this.over.push(what),
    });
    this.board = site.join(name, {
      carried: { [holdsAnnotation]: () => this.book.carried() },
      saw: ({ annotations, written }) => this.book.saw(annotations[holdsAnnotation], written),
      lead: async (term, found) => {
        this.board.terms.push(term.number);
        this.book.begin(found.annotations[holdsAnnotation], found.written);
        const tasks = new TaskGroup(term.signal);
        tasks.start("holds", (signal) => this.book.run(signal));
        await tasks.join();
        this.book.end();
      },
    });
  }

  get now(): Instant {
    return this.board.clock.now();
  }

  get isFrozen(): boolean {
    return freezeOn(this.book.now(this.now), anywhere, this.now) !== undefined;
  }

  freeze(length: Span): Promise<void> {
    const end = shifted(this.now, millis(length));
    const freeze = { scope: "site", end, slowEnd: shifted(end, 600_000), by: "ops:alice" } as const;
    return this.book.change(
      (holds) => ({ ...holds, freezes: new Map([["site", { ...freeze, reason: undefined, foreign: {} }]]) }),
      "at once",
    );
  }

  thaw(): Promise<void> {
    return this.book.change((holds) => ({ ...holds, freezes: new Map() }), "once written");
  }
}

async function twoBoards(): Promise<{ site: Election; first: Member; second: Member; disks: readonly [Disk, Disk] }> {
  const site = new Election(3);
  const disks = [new Disk(), new Disk()] as const;
  const members = [new Member(site, "pi-1", disks[0]), new Member(site, "pi-2", disks[1])];
  await site.settled();
  const first = members.find(({ board }) => board.leads);
  const second = members.find(({ board }) => !board.leads);
  if (!first || !second) throw new Error("nobody leads");
  return { site, first, second, disks };
}

/** How it ended, once it did. */
function watched(work: Promise<void>): { ended: string | undefined } {
  const state = { ended: undefined as string | undefined };
  work.then(
    () => {
      state.ended = "done";
    },
    (error: Error) => {
      state.ended = error.message;
    },
  );
  return state;
}

const carried = (site: Election) => JSON.parse(site.server.lease?.annotations[holdsAnnotation] ?? "{}");

describe("a freeze", () => {
  test("is on the Lease before it is answered, and not at the next renewal", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    const order = watched(first.freeze("1h"));
    await site.clock.settle();
    expect(first.isFrozen).toBe(true);
    await site.clock.advance("200ms");
    expect(order.ended).toBe("done");
    expect(carried(site).freezes.site).toMatchObject({ left: 3600, by: "ops:alice", slow: 600 });
    await site.end();
  });

  test.each(["killed", "stopped"])(
    "is honoured by the next leader when the first one is %s, and ends when it should",
    async (how) => {
      const { site, first, second } = await twoBoards();
      await site.clock.advance("3s");
      const frozenAt = site.clock.now().mono;
      void first.freeze("1h");
      await site.clock.advance("10m");
      if (how === "killed") first.board.clock.suspend();
      else first.board.stop();
      await site.clock.until(() => second.board.leads, "5m");
      await site.clock.advance("1s");
      expect(second.isFrozen).toBe(true);
      await site.clock.until(() => !second.isFrozen, "2h");
      const lasted = site.clock.now().mono - frozenAt;
      expect(lasted).toBeGreaterThanOrEqual(millis("1h"));
      // What nobody can know: how old the text was, and how long nobody led.
      expect(lasted).toBeLessThan(millis("1h") + millis("3m"));
      await site.end();
    },
  );

  test("goes on while nobody leads: an hour without a leader makes it longer, never shorter", async () => {
    const { site, first, second } = await twoBoards();
    const frozenAt = site.clock.now().mono;
    void first.freeze("30m");
    await site.clock.advance("1m");
    for (const { board } of [first, second]) board.link.cut = "both";
    await site.clock.advance("1h");
    second.board.link.cut = undefined;
    await site.clock.until(() => second.board.leads, "10m");
    await site.clock.advance("1s");
    await site.clock.until(() => !second.isFrozen, "2h");
    expect(site.clock.now().mono - frozenAt).toBeGreaterThanOrEqual(millis("30m"));
    await site.end();
  });

  test("that cannot be written is taken back, and the answer says so", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    first.board.link.cut = "both";
    const order = watched(first.freeze("1h"));
    await site.clock.settle();
    expect(first.isFrozen).toBe(true);
    await site.clock.advance("16s");
    expect(order.ended).toMatch(/not written within 15s/);
    expect(first.isFrozen).toBe(false);
    first.board.link.cut = undefined;
    await site.clock.advance("11s");
    expect(carried(site).freezes ?? {}).toEqual({});
    await site.end();
  });

  test("whose answer was lost leaves no freeze on the Lease that nobody knows of", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    first.board.link.cut = "answers";
    const order = watched(first.freeze("1h"));
    await site.clock.advance("16s");
    expect(order.ended).toMatch(/not written/);
    expect(carried(site).freezes.site).toBeDefined();
    first.board.link.cut = undefined;
    await site.clock.advance("15s");
    expect(first.board.leads).toBe(true);
    expect(carried(site).freezes).toEqual({});
    await site.end();
  });

  test("is thawed only once the Lease says so", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("3s");
    first.board.link.latency = 1000;
    const order = watched(first.thaw());
    await site.clock.advance("1s");
    expect([first.isFrozen, order.ended]).toEqual([true, undefined]);
    await site.clock.advance("2s");
    expect([first.isFrozen, order.ended]).toEqual([false, "done"]);
    await site.end();
  });

  test("is told to be over by the leader that only took it over, too", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("10m");
    await site.clock.advance("1m");
    first.board.stop();
    await site.clock.until(() => second.board.leads, "5m");
    await site.clock.advance("1s");
    const { changes } = second;
    await site.clock.advance("15m");
    expect(second.over.map(({ kind, subject }) => [kind, subject])).toEqual([["freeze", "site"]]);
    expect(second.changes).toBeGreaterThan(changes);
    await site.end();
  });

  test("tells when it ends by itself", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("5m");
    await site.clock.advance("299s");
    expect(first.over).toEqual([]);
    const { changes } = first;
    await site.clock.advance("2s");
    expect(first.over.map(({ kind, subject }) => [kind, subject])).toEqual([["freeze", "site"]]);
    expect(first.changes).toBeGreaterThan(changes);
    await site.end();
  });
});

test("what the next leader could not read any more is refused, and changes nothing", async () => {
  const { site, first } = await twoBoards();
  const end = shifted(first.now, millis("1h"));
  const long = { end, by: "b".repeat(128), reason: "ü".repeat(256), foreign: {} };
  const names = Array.from({ length: 90 }, (_, index) => `${"x".repeat(200)}${index}`);
  const pauses = new Map(names.map((name) => [name, long]));
  const order = watched(first.book.change((holds) => ({ ...holds, pauses }), "at once"));
  await site.clock.advance("1s");
  expect(order.ended).toMatch(/do not fit/);
  expect(first.book.ordered.pauses.size).toBe(0);
  expect(site.server.lease?.annotations).toEqual({});
  await site.end();
});

describe("the board's own memory", () => {
  test("costs a board that never held anything back no write, nor the Lease a byte", async () => {
    const { site, disks } = await twoBoards();
    await site.clock.advance("2h");
    expect(disks.map(({ writes }) => writes)).toEqual([0, 0]);
    expect(site.server.lease?.annotations).toEqual({});
    await site.end();
  });

  test("brings a freeze back onto a Lease that somebody deleted", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1m");
    site.server.put(undefined);
    await site.clock.until(() => first.board.leads === false, "1m");
    await site.clock.until(() => first.board.leads, "5m");
    await site.clock.advance("1s");
    expect(first.isFrozen).toBe(true);
    expect(carried(site).freezes.site.left).toBeLessThanOrEqual(3600);
    await site.end();
  });

  test("of a board that never led brings it back as well, and costs one write", async () => {
    const { site, first, second, disks } = await twoBoards();
    void first.freeze("4h");
    await site.clock.advance("1h");
    const writes = disks.map((disk) => disk.writes);
    expect(Math.min(...writes)).toBe(1);
    first.board.clock.suspend();
    site.server.put(undefined);
    await site.clock.until(() => second.board.leads, "5m");
    await site.clock.advance("1s");
    expect(second.isFrozen).toBe(true);
    await site.end();
  });

  test("knows no freeze any more that another leader thawed", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("4h");
    await site.clock.advance("5m");
    void first.thaw();
    await site.clock.advance("5m");
    first.board.clock.suspend();
    site.server.put(undefined);
    await site.clock.until(() => second.board.leads, "5m");
    await site.clock.advance("1s");
    expect(second.isFrozen).toBe(false);
    await site.end();
  });

  /** The only board: its Lease is gone and its clock begins anew. */
  async function reboot(after: Millis, wall: string): Promise<{ site: Election; member: Member; writes: number }> {
    const disk = new Disk();
    const site = new Election(5);
    const before = new Member(site, "pi-1", disk);
    await site.settled();
    void before.freeze("1h");
    await site.clock.advance(after);
    before.board.clock.suspend();
    site.server.put(undefined);
    disk.boot = "boot-2";
    site.clock.setWall(wall);
    const member = new Member(site, "pi-1", disk);
    await site.clock.until(() => member.board.leads, "5m");
    await site.clock.advance("1s");
    return { site, member, writes: disk.writes };
  }

  test("counts what was left from the new boot on, also where the clock says 1970", async () => {
    const { site, member } = await reboot(millis("20m"), "1970-01-01T00:00:00Z");
    expect(member.isFrozen).toBe(true);
    const begun = site.clock.now().mono;
    await site.clock.until(() => !member.isFrozen, "2h");
    const rest = site.clock.now().mono - begun;
    // It was noted every ten minutes: no shorter than 40 minutes, and no longer than 50 and a bit.
    expect(rest).toBeGreaterThanOrEqual(millis("39m"));
    expect(rest).toBeLessThan(millis("51m"));
    await site.end();
  });

  test("forgets what is over: it does not come back with a later boot", async () => {
    const { site, member } = await reboot(millis("75m"), "1970-01-01T00:00:00Z");
    expect(member.book.now(member.now).freezes.size).toBe(0);
    await site.end();
  });

  test("is written every ten minutes while something is held, and no more often", async () => {
    const { site, writes } = await reboot(millis("50m"), "2026-01-01T01:00:00Z");
    expect(writes).toBeLessThanOrEqual(8);
    await site.end();
  });

  test("that cannot be written costs no freeze", async () => {
    const { site, first, disks } = await twoBoards();
    for (const disk of disks) disk.isFull = true;
    const order = watched(first.freeze("1h"));
    await site.clock.advance("1s");
    expect([order.ended, first.isFrozen]).toEqual(["done", true]);
    await site.end();
  });

  test("forgets what was confirmed dead: that is believed only where the Lease says it", async () => {
    const { site, first } = await twoBoards();
    const end = shifted(first.now, millis("1h"));
    const hold = { end, by: "ops:bob", reason: undefined, foreign: {} };
    const edit = (holds: Holds): Holds => ({ ...holds, confirmed: new Map([["a", hold]]) });
    void first.book.change(edit, "once written");
    await site.clock.advance("1m");
    expect(first.book.ordered.confirmed.size).toBe(1);
    site.server.put(undefined);
    await site.clock.until(() => first.board.leads === false, "1m");
    await site.clock.until(() => first.board.leads, "5m");
    expect(first.book.ordered.confirmed.size).toBe(0);
    await site.end();
  });
});

describe("a Lease that went back with a restored server", () => {
  /** The former process' book is gone, the disk is there; the Lease says again what it said before the backup. */
  const anew = (member: Member, text: string | undefined): void => {
    member.book.restored();
    member.book.end();
    member.book.begin(text, member.now);
  };

  test("does not end a freeze that was ordered after the backup", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1s");
    anew(first, undefined);
    expect(first.isFrozen).toBe(true);
    await site.end();
  });

  test("does not bring back a freeze that was taken back after the backup", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1s");
    const backup = first.book.carried();
    void first.thaw();
    await site.clock.advance("1s");
    anew(first, backup);
    expect(first.isFrozen).toBe(false);
    expect(first.book.carried()).toBeDefined();
    await site.end();
  });

  test("says what is held where it was changed since by another board", async () => {
    const { site, first, second } = await twoBoards();
    await site.clock.advance("2m");
    void first.freeze("1h");
    await site.clock.advance("1s");
    // The other board was off, and comes back.
    anew(second, first.book.carried());
    expect(second.isFrozen).toBe(true);
    await site.end();
  });

  test("does not bring back what another board has ended since", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("2m");
    void first.thaw();
    await site.clock.advance("1s");
    anew(second, first.book.carried());
    expect(second.isFrozen).toBe(false);
    await site.end();
  });

  test("does not end a freeze that a board knows which was off meanwhile and noticed no restore", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1m");
    void first.thaw();
    await site.clock.advance("1m");
    const backup = first.book.carried();
    void first.freeze("2h");
    await site.clock.advance("2m");
    second.book.saw(backup, second.now);
    second.book.begin(backup, second.now);
    expect(second.isFrozen).toBe(true);
    second.book.end();
    // A third board led, and knew of nothing.
    const since = backup?.replace('"changes":2', '"changes":2,"by":"pi-3"');
    second.book.saw(since, second.now);
    second.book.begin(since, second.now);
    expect(second.isFrozen).toBe(false);
    await site.end();
  });

  test("teaches a follower nothing until it says something new", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("2m");
    second.book.restored();
    second.book.saw("{}", second.now);
    second.book.saw("{}", second.now);
    second.book.begin("{}", second.now);
    expect(second.isFrozen).toBe(true);
    second.book.end();
    second.book.saw('{"v":1}', second.now);
    second.book.begin('{"v":1}', second.now);
    expect(second.isFrozen).toBe(false);
    await site.end();
  });
});

describe("quiet hours", () => {
  test("are a freeze of the whole site while they last, and evictions go slowly after them", async () => {
    const { site, first } = await twoBoards();
    first.quiet = { until: shifted(first.now, millis("1h")), why: "quiet hours" };
    await site.clock.advance("20s");
    expect(first.isFrozen).toBe(true);
    expect(site.server.lease?.annotations).toEqual({});
    first.quiet = undefined;
    const { changes } = first;
    await site.clock.advance("16s");
    expect(first.isFrozen).toBe(false);
    expect(first.changes).toBeGreaterThan(changes);
    const after = [...first.book.now(first.now).freezes.values()];
    expect(after.map((freeze) => isRunning(freeze, first.now))).toEqual([false]);
    await site.clock.advance("10m");
    expect(first.book.now(first.now).freezes.size).toBe(0);
    await site.end();
  });

  test("whose end nobody knows hold as long as they are said to", async () => {
    const { site, first } = await twoBoards();
    first.quiet = { until: undefined, why: "the clock was not set" };
    for (let hour = 0; hour < 5; hour++) {
      await site.clock.advance("1h");
      expect(first.isFrozen).toBe(true);
    }
    await site.end();
  });
});
