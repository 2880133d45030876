import { describe, expect, test } from "vitest";
import { type Instant, type Millis, shifted } from "../../../agent/base/clock.ts";
import { TaskGroup } from "../../../agent/base/concurrency/tasks.ts";
import { type EndedHold, HoldBook, type HoldTurn, type QuietHours } from "../../../agent/holds/hold-book.ts";
import { HoldMemory } from "../../../agent/holds/hold-memory.ts";
import { freezeOn, type Holds, holdsAnnotation, isRunning } from "../../../agent/holds/holds.ts";
import { millis, type Span } from "../../support/fake-clock.ts";
import { type Board, Election } from "../election/support/election.ts";

const anywhere = { board: "pi-9", zone: "a" };
const unending = new AbortController().signal;

/** The part of a board's disk that survives a process, and the id of its boot. */
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
  readonly memory: HoldMemory;
  readonly over: EndedHold[] = [];
  changes = 0;
  quiet: QuietHours | undefined;

  constructor(site: Election, name: string, disk = new Disk()) {
    const ambient = (): ConstructorParameters<typeof HoldBook>[0] => ({
      clock: { now: () => this.board.clock.now(), after: (delay, run) => this.board.clock.after(delay, run) },
      random: { next: () => 0, uuid: () => "" },
      log: { error() {}, warn() {}, info() {}, debug() {}, child: () => ambient().log },
    });
    this.memory = new HoldMemory(ambient(), {
      facts: disk,
      bootId: disk.boot,
      lease: "kube-system/siteward-default",
    });
    this.book = new HoldBook(ambient(), {
      memory: this.memory,
      renewal: 10_000,
      recovery: 600_000,
      quietHoursAt: () => this.quiet,
      publish: () => this.board.elector.renewNow(),
      changed: () => void this.changes++,
      over: (what) => this.over.push(what),
    });
    this.board = site.join(name, {
      carried: { [holdsAnnotation]: () => this.book.carried() },
      onRead: (found) => this.book.saw(found.annotations[holdsAnnotation], found),
      lead: async (term, found) => {
        this.board.terms.push(term.number);
        this.book.begin(found.annotations[holdsAnnotation], found);
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

  /** A reading of the Lease at this instant; `lease`: its uid. */
  found(lease = "lease-1"): { readonly lease: string; readonly written: Instant } {
    return { lease, written: this.now };
  }

  get isFrozen(): boolean {
    return freezeOn(this.book.now(this.now), anywhere, this.now) !== undefined;
  }

  freeze(length: Span): Promise<HoldTurn> {
    const end = shifted(this.now, millis(length));
    const freeze = { scope: "site", end, slowEnd: shifted(end, 600_000), by: "ops:alice" } as const;
    return this.book.change(
      (holds) => ({ ...holds, freezes: new Map([["site", { ...freeze, reason: undefined, foreign: {} }]]) }),
      { effect: "at once", signal: unending },
    );
  }

  thaw(signal = unending): Promise<HoldTurn> {
    return this.book.change((holds) => ({ ...holds, freezes: new Map() }), { effect: "once written", signal });
  }
}

async function twoBoards(): Promise<{ site: Election; first: Member; second: Member; disks: readonly [Disk, Disk] }> {
  const site = new Election(3);
  const disks = [new Disk(), new Disk()] as const;
  const members = [new Member(site, "pi-1", disks[0]), new Member(site, "pi-2", disks[1])];
  await site.settled();
  const first = members.find(({ board }) => board.leads);
  const second = members.find(({ board }) => !board.leads);
  if (!first || !second) throw new Error("no board leads");
  return { site, first, second, disks };
}

/** How it ended, once it did. */
function watched(work: Promise<unknown>): { ended: string | undefined } {
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
  test("is on the Lease before its command is answered, and not at the next renewal", async () => {
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
    "is honoured by the next leader when the first one is %s, and ends on time",
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
      // Not known to any board: how old the text was, and for how long no board led.
      expect(lasted).toBeLessThan(millis("1h") + millis("3m"));
      await site.end();
    },
  );

  test("continues without a leader: an hour without one makes it longer, never shorter", async () => {
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

  test("that cannot be written is undone, and its command fails", async () => {
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

  test("that was being written when its term ended fails, with the note that it may nevertheless take effect", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    first.board.link.cut = "answers";
    const order = watched(first.freeze("1h"));
    await site.clock.advance("1s");
    expect(carried(site).freezes.site).toBeDefined();
    first.board.elector.stepDown("maintenance", 60_000);
    await site.clock.advance("3s");
    expect(order.ended).toMatch(
      /^term \d+ has ended; the Lease may have been written before that, so the change may take effect/,
    );
    first.board.link.cut = undefined;
    await site.end();
  });

  test("whose answer was lost does not leave an unknown freeze on the Lease", async () => {
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

  test("stays if the order to thaw is over before its turn, or before the Lease has the change", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("3s");
    first.board.link.cut = "answers";
    const over = new AbortController();
    const orders = [watched(first.thaw(over.signal)), watched(first.thaw(over.signal))];
    await site.clock.advance("1s");
    expect(carried(site).freezes).toEqual({});
    over.abort(new Error("answered"));
    await site.clock.advance("1s");
    expect(orders.map(({ ended }) => ended)).toEqual(["answered", "answered"]);
    expect(first.isFrozen).toBe(true);
    first.board.link.cut = undefined;
    await site.clock.advance("30s");
    expect(carried(site).freezes.site).toBeDefined();
    expect(first.isFrozen).toBe(true);
    await site.end();
  });

  test("counts as thawed only once the Lease has the change", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("3s");
    first.board.link.latency = { request: 1000, answer: 1000 };
    const order = watched(first.thaw());
    await site.clock.advance("1s");
    expect([first.isFrozen, order.ended]).toEqual([true, undefined]);
    await site.clock.advance("2s");
    expect([first.isFrozen, order.ended]).toEqual([false, "done"]);
    await site.end();
  });

  test("is reported as ended even by a leader that inherited it", async () => {
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

  test("is reported when it expires", async () => {
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

test("a hold that the next leader could not read is refused, and changes nothing", async () => {
  const { site, first } = await twoBoards();
  const end = shifted(first.now, millis("1h"));
  const long = { end, by: "b".repeat(128), reason: "ü".repeat(256), foreign: {} };
  const names = Array.from({ length: 90 }, (_, index) => `${"x".repeat(200)}${index}`);
  const pauses = new Map(names.map((name) => [name, long]));
  const order = watched(first.book.change((holds) => ({ ...holds, pauses }), { effect: "at once", signal: unending }));
  await site.clock.advance("1s");
  expect(order.ended).toMatch(/no room for another freeze, pause or confirmation/);
  expect(first.book.ordered.pauses.size).toBe(0);
  expect(site.server.lease?.annotations).toEqual({});
  await site.end();
});

describe("a permission", () => {
  const release =
    '{"v":1,"changes":1,"release":{"left":60,"by":"ops:alice"},"freezes":{"site":{"left":3600,"by":"b"}}}';

  /** A board that leads for a term of this length, and the text that the Lease has after it. */
  async function term(member: Member, site: Election, text: string, length: Millis): Promise<string> {
    member.book.begin(text, member.found());
    let written = "";
    for (let rest = length; rest > 0; rest -= 10_000) {
      written = member.book.carried() ?? "";
      await site.clock.advance(Math.min(rest, 10_000));
    }
    member.book.end();
    return written;
  }

  test.each([7500, 11_000, 25_000])(
    "ends no later than ordered if each process is killed after %d ms",
    async (length) => {
      const site = new Election(11);
      const member = new Member(site, "pi-1");
      member.board.link.cut = "both";
      const begun = site.clock.now().mono;
      let text = release;
      for (let count = 0; JSON.parse(text).release !== undefined && count < 20; count++)
        text = await term(member, site, text, length);
      expect(site.clock.now().mono - begun).toBeLessThanOrEqual(60_000 + length);
      // A restriction never ends too early.
      member.book.begin(text, member.found());
      expect((member.book.ordered.freezes.get("site")?.end.mono ?? 0) - begun).toBeGreaterThanOrEqual(3_600_000);
      await site.end();
    },
  );

  test("is written with each renewal, and for the time up to the next one", async () => {
    const site = new Election(12);
    const member = new Member(site, "pi-1");
    member.board.link.cut = "both";
    member.book.begin(release, member.found());
    const left = (): number => JSON.parse(member.book.carried() ?? "").release?.left;
    expect(left()).toBe(50);
    await site.clock.advance("9500ms");
    expect(left()).toBe(40);
    await site.clock.advance("41s");
    expect(left()).toBe(0);
    await site.end();
  });

  test("of many boards is written as rarely as a restriction, and is shortened instead", async () => {
    const site = new Election(13);
    const member = new Member(site, "pi-1");
    member.board.link.cut = "both";
    const lastSigns = Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(6, "a")).join("");
    const confirmed = { a: { left: 3600, by: "ops:alice", lastSigns } };
    member.book.begin(JSON.stringify({ v: 1, confirmed }), member.found());
    const text = member.book.carried();
    expect(JSON.parse(text ?? "").confirmed.a.left).toBe(3560);
    await site.clock.advance("29s");
    expect(member.book.carried()).toBe(text);
    await site.clock.advance("1s");
    expect(JSON.parse(member.book.carried() ?? "").confirmed.a.left).toBe(3530);
    await site.end();
  });

  test("is written once a term begins; a restriction waits for the renewal", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("1s");
    first.book.begin('{"v":1,"pauses":{"pod-gc":{"left":3600,"by":"b"}}}', first.found());
    await site.clock.advance("1s");
    expect(carried(site).pauses).toBeUndefined();
    first.book.begin(release, first.found());
    await site.clock.advance("1s");
    expect(carried(site).release.left).toBe(50);
    await site.end();
  });
});

describe("the board's own copy", () => {
  test("does not cost a board that never had a hold any write, or the Lease any bytes", async () => {
    const { site, disks } = await twoBoards();
    await site.clock.advance("2h");
    expect(disks.map(({ writes }) => writes)).toEqual([0, 0]);
    expect(site.server.lease?.annotations).toEqual({});
    await site.end();
  });

  test("restores a freeze on a Lease that was deleted", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1m");
    site.server.remove();
    await site.clock.until(() => first.board.leads === false, "1m");
    await site.clock.until(() => first.board.leads, "5m");
    await site.clock.advance("1s");
    expect(first.isFrozen).toBe(true);
    expect(carried(site).freezes.site.left).toBeLessThanOrEqual(3600);
    await site.end();
  });

  test("of a board that never led also restores the freeze, and costs one write", async () => {
    const { site, first, second, disks } = await twoBoards();
    void first.freeze("4h");
    await site.clock.advance("1h");
    const writes = disks.map((disk) => disk.writes);
    expect(Math.min(...writes)).toBe(1);
    first.board.clock.suspend();
    site.server.remove();
    await site.clock.until(() => second.board.leads, "5m");
    await site.clock.advance("1s");
    expect(second.isFrozen).toBe(true);
    await site.end();
  });

  test("does not contain a freeze that another leader thawed", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("4h");
    await site.clock.advance("5m");
    void first.thaw();
    await site.clock.advance("5m");
    first.board.clock.suspend();
    site.server.remove();
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
    site.server.remove();
    disk.boot = "boot-2";
    site.clock.setWall(wall);
    const member = new Member(site, "pi-1", disk);
    await site.clock.until(() => member.board.leads, "5m");
    await site.clock.advance("1s");
    return { site, member, writes: disk.writes };
  }

  test("counts the remaining time from the new boot on, even if the clock says 1970", async () => {
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

  test("drops ended holds: they do not return with a later boot", async () => {
    const { site, member } = await reboot(millis("75m"), "1970-01-01T00:00:00Z");
    expect(member.book.now(member.now).freezes.size).toBe(0);
    await site.end();
  });

  test("is written every ten minutes while something is held, and no more often", async () => {
    const { site, writes } = await reboot(millis("50m"), "2026-01-01T01:00:00Z");
    expect(writes).toBeLessThanOrEqual(8);
    await site.end();
  });

  test("does not lose a freeze if it cannot be written", async () => {
    const { site, first, disks } = await twoBoards();
    for (const disk of disks) disk.isFull = true;
    const order = watched(first.freeze("1h"));
    await site.clock.advance("1s");
    expect([order.ended, first.isFrozen]).toEqual(["done", true]);
    await site.end();
  });

  test("does not keep confirmations: only those on the Lease count", async () => {
    const { site, first } = await twoBoards();
    const end = shifted(first.now, millis("1h"));
    const hold = { end, by: "ops:bob", reason: undefined, foreign: {}, lastSigns: new Set(["aaaaaa"]) };
    const edit = (holds: Holds): Holds => ({ ...holds, confirmed: new Map([["a", hold]]) });
    void first.book.change(edit, { effect: "once written", signal: unending });
    await site.clock.advance("1m");
    expect(first.book.ordered.confirmed.size).toBe(1);
    site.server.remove();
    await site.clock.until(() => first.board.leads === false, "1m");
    await site.clock.until(() => first.board.leads, "5m");
    expect(first.book.ordered.confirmed.size).toBe(0);
    await site.end();
  });
});

describe("a Lease that went back with a restored server", () => {
  /** The former process' book is gone, the disk is there; the Lease says again what it said before the backup. */
  const anew = (member: Member, text: string | undefined): void => {
    member.memory.restored();
    member.book.end();
    member.book.begin(text, member.found());
  };

  test("does not end a freeze that was ordered after the backup", async () => {
    const { site, first } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1s");
    anew(first, undefined);
    expect(first.isFrozen).toBe(true);
    await site.end();
  });

  test("does not bring back a freeze that was thawed after the backup", async () => {
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

  test("decides if another board has since changed the holds", async () => {
    const { site, first, second } = await twoBoards();
    await site.clock.advance("2m");
    void first.freeze("1h");
    await site.clock.advance("1s");
    // The other board was off, and comes back.
    anew(second, first.book.carried());
    expect(second.isFrozen).toBe(true);
    await site.end();
  });

  test("does not bring back a freeze that another board has since ended", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("2m");
    void first.thaw();
    await site.clock.advance("1s");
    anew(second, first.book.carried());
    expect(second.isFrozen).toBe(false);
    await site.end();
  });

  test("does not end a freeze known to a board that was off during the restore and did not notice it", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("1m");
    void first.thaw();
    await site.clock.advance("1m");
    const backup = first.book.carried();
    void first.freeze("2h");
    await site.clock.advance("2m");
    second.book.saw(backup, second.found());
    second.book.begin(backup, second.found());
    expect(second.isFrozen).toBe(true);
    second.book.end();
    // A third board led, and knew of nothing.
    const since = backup?.replace('"changes":2', '"changes":2,"by":"pi-3"');
    second.book.saw(since, second.found());
    second.book.begin(since, second.found());
    expect(second.isFrozen).toBe(false);
    await site.end();
  });

  test("does not change a follower's copy until its text changes", async () => {
    const { site, first, second } = await twoBoards();
    void first.freeze("1h");
    await site.clock.advance("2m");
    second.memory.restored();
    second.book.saw("{}", second.found());
    second.book.saw("{}", second.found());
    second.book.begin("{}", second.found());
    expect(second.isFrozen).toBe(true);
    second.book.end();
    second.book.saw('{"v":1}', second.found());
    second.book.begin('{"v":1}', second.found());
    expect(second.isFrozen).toBe(false);
    await site.end();
  });
});

describe("the copy of another Lease", () => {
  /** A board whose copy counts more changes than the annotation, of the Lease "lease-1" in the cluster "east". */
  async function remembering(what: "a freeze" | "nothing"): Promise<{ site: Election; member: Member; disk: Disk }> {
    const disk = new Disk();
    const site = new Election(7);
    const before = new Member(site, "pi-1", disk);
    before.book.identified("east");
    await site.settled();
    for (let i = 0; i < 3; i++) {
      void before.freeze("24h");
      await site.clock.advance("1s");
      if (i === 2 && what === "a freeze") break;
      void before.thaw();
      await site.clock.advance("1s");
    }
    before.board.kill();
    // Its process does not stand for the Lease: the test says what it reads.
    const elsewhere = new Election(8);
    const member = new Member(elsewhere, "pi-1", disk);
    member.board.kill();
    return { site: elsewhere, member, disk };
  }

  const frozen = '{"v":1,"changes":1,"freezes":{"site":{"left":3600,"by":"ops:bob","slow":600}}}';
  const thawed = '{"v":1,"changes":2,"freezes":{}}';

  test.each(["east", "west", undefined])("does not end a freeze on a Lease in the cluster %s", async (cluster) => {
    const { site, member } = await remembering("nothing");
    if (cluster) member.book.identified(cluster);
    member.memory.restored();
    member.book.begin(frozen, member.found("lease-2"));
    expect(member.isFrozen).toBe(true);
    expect(JSON.parse(member.book.carried() ?? "{}").changes).toBe(1);
    await site.end();
  });

  test("is replaced by the first annotation that a follower reads, with one write", async () => {
    const { site, member, disk } = await remembering("a freeze");
    const { writes } = disk;
    for (let i = 0; i < 3; i++) member.book.saw(thawed, member.found("lease-2"));
    expect(disk.writes - writes).toBe(1);
    member.book.begin(undefined, member.found("lease-3"));
    expect(member.isFrozen).toBe(false);
    await site.end();
  });

  test("does not change the holds of a Lease that has an annotation", async () => {
    const { site, member } = await remembering("a freeze");
    member.book.begin(thawed, member.found("lease-2"));
    expect(member.isFrozen).toBe(false);
    await site.end();
  });

  test.each(["before", "after"])(
    "is dropped in another cluster that is identified %s the term begins",
    async (when) => {
      const { site, member, disk } = await remembering("a freeze");
      if (when === "before") member.book.identified("west");
      member.book.begin(undefined, member.found("lease-2"));
      // Until the cluster is known the holds are in force, and neither written nor changed.
      expect(member.isFrozen).toBe(when === "after");
      expect(member.book.carried()).toBeUndefined();
      if (when === "after") await expect(member.thaw()).rejects.toThrow("not identified yet");
      member.book.identified("west");
      expect(member.isFrozen).toBe(false);
      expect(member.book.carried()).toBeUndefined();
      expect(disk.facts.get("holds/kept kube-system/siteward-default")).toBe("");
      await site.end();
    },
  );

  test.each(["before", "after"])(
    "survives a deleted Lease in its cluster, identified %s the term begins",
    async (when) => {
      const { site, member } = await remembering("a freeze");
      if (when === "before") member.book.identified("east");
      member.book.begin(undefined, member.found("lease-2"));
      expect(member.isFrozen).toBe(true);
      member.book.identified("east");
      expect(member.isFrozen).toBe(true);
      expect(JSON.parse(member.book.carried() ?? "{}").freezes.site.by).toBe("ops:alice");
      await site.end();
    },
  );

  test("is still there if the power is cut before the cluster is identified", async () => {
    const { site, member, disk } = await remembering("a freeze");
    member.book.begin(undefined, member.found("lease-2"));
    const next = new Member(new Election(9), "pi-1", disk);
    next.board.kill();
    next.book.begin(undefined, next.found("lease-2"));
    expect(next.isFrozen).toBe(true);
    next.book.identified("west");
    expect(next.isFrozen).toBe(false);
    await site.end();
  });

  test("takes precedence, as before, if it was written by a version that stored no Lease", async () => {
    const { site, member, disk } = await remembering("a freeze");
    const key = "holds/kept kube-system/siteward-default";
    const { lease: _, cluster: __, ...older } = JSON.parse(disk.facts.get(key) ?? "{}");
    disk.facts.set(key, JSON.stringify(older));
    member.book.begin(thawed, member.found("lease-2"));
    expect(member.isFrozen).toBe(true);
    member.book.end();
    member.book.begin('{"v":1,"changes":1}', member.found("lease-3"));
    expect(member.isFrozen).toBe(false);
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

  test("whose end is unknown hold for as long as they are reported", async () => {
    const { site, first } = await twoBoards();
    first.quiet = { until: undefined, why: "the clock was not set" };
    for (let hour = 0; hour < 5; hour++) {
      await site.clock.advance("1h");
      expect(first.isFrozen).toBe(true);
    }
    await site.end();
  });
});
