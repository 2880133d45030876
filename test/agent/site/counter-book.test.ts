import { describe, expect, test } from "vitest";
import { sleep } from "../../../agent/base/clock.ts";
import { CounterBook } from "../../../agent/site/counter-book.ts";
import { countersAnnotation } from "../../../agent/site/site-counters.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { type Board, Election } from "../election/support/election.ts";

const ops = "0123456789abcdef-and-the-rest-of-a-fingerprint";

/** What survives a process on a board's disk. */
class Disk {
  readonly facts = new Map<string, string>();
  writes = 0;
  isFull = false;

  get = (area: string, key: string) => this.facts.get(`${area}/${key}`);
  set = (area: string, key: string, value: string): void => {
    if (this.isFull) throw new Error("no space left on device");
    if (this.get(area, key) === value) return;
    this.writes++;
    this.facts.set(`${area}/${key}`, value);
  };
}

/** A board that stands for election and knows which numbers are used up, as the agent puts both together. */
class Member {
  readonly board: Board;
  readonly book: CounterBook;
  readonly log = new RecordingLog();

  constructor(site: Election, name: string, disk = new Disk()) {
    const clock: ConstructorParameters<typeof CounterBook>[0]["clock"] = {
      now: () => this.board.clock.now(),
      after: (delay, run) => this.board.clock.after(delay, run),
    };
    this.book = new CounterBook(
      { clock, random: new SeededRandom(), log: this.log },
      { facts: disk, site: "plant7", publish: () => this.board.elector.renewNow() },
    );
    this.board = site.join(name, {
      carried: { [countersAnnotation]: () => this.book.carried() },
      onRead: ({ annotations }) => this.book.observe(annotations[countersAnnotation]),
      lead: (term) => sleep(this.board.clock, 2 ** 31, term.signal),
    });
  }

  /** How it ended, once it did. */
  use(counter: number): { ended: string | undefined } {
    const state: { ended: string | undefined } = { ended: undefined };
    this.book.use(ops, counter).then(
      () => {
        state.ended = "used";
      },
      (error: Error) => {
        state.ended = error.message;
      },
    );
    return state;
  }

  get highest(): number | undefined {
    return this.book.highest(ops);
  }
}

async function twoBoards() {
  const site = new Election(3);
  const disks = [new Disk(), new Disk()] as const;
  const members = [new Member(site, "pi-1", disks[0]), new Member(site, "pi-2", disks[1])] as const;
  await site.settled();
  const [first, second] = members[0].board.leads ? members : [members[1], members[0]];
  return { site, first, second, disks };
}

const onLease = (site: Election): string | undefined => site.server.lease?.annotations[countersAnnotation];
const text = (counter: number): string => `${ops.slice(0, 16)}=${counter}`;

describe("the counter of a signed command", () => {
  test("is on the Lease before it counts as used, and not only at the next renewal", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    const use = first.use(4);
    await site.clock.settle();
    expect([use.ended, first.highest]).toEqual([undefined, 4]);
    await site.clock.advance("200ms");
    expect([use.ended, onLease(site)]).toEqual(["used", text(4)]);
    await site.end();
  });

  test("is used once: the second of two simultaneous commands with the same counter is refused", async () => {
    const { site, first } = await twoBoards();
    const both = [first.use(4), first.use(4), first.use(3)];
    await site.clock.advance("1s");
    expect(both.map(({ ended }) => ended)).toEqual([
      "used",
      "the counter 4 was used before",
      "the counter 3 was used before",
    ]);
    await site.end();
  });

  test.each(["killed", "stopped"])("is known to the next leader when the first one is %s", async (how) => {
    const { site, first, second } = await twoBoards();
    void first.use(4);
    await site.clock.advance("200ms");
    if (how === "killed") first.board.kill();
    else first.board.stop();
    await site.clock.until(() => second.board.leads, "5m");
    expect(second.highest).toBe(4);
    await site.clock.advance("1m");
    expect(onLease(site)).toBe(text(4));
    await site.end();
  });

  test("is known to a board that was away for a week, and has an older one, from the moment at which it leads", async () => {
    const { site, first, second } = await twoBoards();
    void first.use(4);
    await site.clock.advance("5m");
    second.board.link.cut = "both";
    void first.use(5);
    await site.clock.advance("168h");
    expect(second.highest).toBe(4);
    first.board.kill();
    second.board.link.cut = undefined;
    await site.clock.until(() => second.board.leads, "10m");
    expect(second.highest).toBe(5);
    await site.end();
  });

  test("is known even after every board lost its power and its state folder", async () => {
    const { site, first, second } = await twoBoards();
    void first.use(4);
    await site.clock.advance("1m");
    for (const { board } of [first, second]) board.kill();
    const next = new Member(site, "pi-1");
    await site.clock.until(() => next.board.leads, "5m");
    expect(next.highest).toBe(4);
    await site.end();
  });

  test("that cannot be written counts as used, and is reported as not written", async () => {
    const { site, first } = await twoBoards();
    await site.clock.advance("3s");
    first.board.link.cut = "both";
    const use = first.use(4);
    await site.clock.advance("11s");
    expect([use.ended, first.highest]).toEqual(["the Lease was not written within 10s", 4]);
    first.board.link.cut = undefined;
    await site.clock.advance("11s");
    expect(onLease(site)).toBe(text(4));
    const next = first.use(5);
    await site.clock.advance("1s");
    expect(next.ended).toBe("used");
    await site.end();
  });

  test("whose answer was lost also counts as used for the next leader", async () => {
    const { site, first, second } = await twoBoards();
    await site.clock.advance("3s");
    first.board.link.cut = "answers";
    const use = first.use(4);
    await site.clock.advance("11s");
    expect(use.ended).toMatch(/not written/);
    first.board.kill();
    await site.clock.until(() => second.board.leads, "5m");
    expect(second.highest).toBe(4);
    await site.end();
  });

  test("is refused by a board that no longer leads, even if it still considers itself the leader", async () => {
    const { site, first, second } = await twoBoards();
    first.board.suspend();
    await site.clock.until(() => second.board.leads, "5m");
    const taken = second.use(4);
    await site.clock.advance("1s");
    first.board.resume();
    const late = first.use(4);
    await site.clock.advance("20s");
    expect(taken.ended).toBe("used");
    expect(late.ended).not.toBe("used");
    expect(late.ended).toBeDefined();
    expect(site.lateWrites).toEqual([]);
    await site.end();
  });
});

describe("a Lease with lower counters than a board knows", () => {
  test.each([
    ["deleted", undefined],
    ["restored from an earlier backup", { [countersAnnotation]: text(2) }],
    ["restored from a backup without counters", { [countersAnnotation]: null }],
    ["overwritten with garbage", { [countersAnnotation]: `\u0000=${"9".repeat(300)} ${ops}=x *=-1 {"v":1}` }],
  ])("is corrected by its leader: %s", async (_how, annotations) => {
    const { site, first } = await twoBoards();
    void first.use(4);
    await site.clock.advance("1m");
    if (annotations === undefined) site.server.remove();
    else site.server.write({ metadata: { annotations } });
    await site.clock.until(() => onLease(site) === text(4), "10m");
    expect(first.highest).toBe(4);
    await site.end();
  });

  test("is corrected by the next leader if that one knows higher counters", async () => {
    const { site, first, second, disks } = await twoBoards();
    void first.use(4);
    await site.clock.advance("5m");
    expect(disks.map(({ writes }) => writes)).toEqual([1, 1]);
    for (const { board } of [first, second]) board.kill();
    site.server.write({ metadata: { annotations: { [countersAnnotation]: text(2) } } });
    const next = new Member(site, "pi-2", disks[1]);
    await site.clock.until(() => next.board.leads, "5m");
    expect(next.highest).toBe(4);
    await site.clock.advance("1m");
    expect(onLease(site)).toBe(text(4));
    await site.end();
  });

  test("a Lease with higher counters is trusted: another writer under our name may have led", async () => {
    const { site, first } = await twoBoards();
    void first.use(4);
    await site.clock.advance("1m");
    site.server.write({ metadata: { annotations: { [countersAnnotation]: text(9) } } });
    await site.clock.advance("1m");
    expect([first.board.leads, first.highest, onLease(site)]).toEqual([true, 9, text(9)]);
    await site.end();
  });
});

test("a site without signed commands does not cost a write or any bytes on the Lease", async () => {
  const { site, disks } = await twoBoards();
  await site.clock.advance("2h");
  expect(disks.map(({ writes }) => writes)).toEqual([0, 0]);
  expect(site.server.lease?.annotations).toEqual({});
  await site.end();
});

test("a board whose disk cannot be written still reads the Lease, but does not accept a command itself", async () => {
  const { site, first, second, disks } = await twoBoards();
  for (const disk of disks) disk.isFull = true;
  const use = first.use(4);
  await site.clock.advance("5m");
  expect(use.ended).toBe("no space left on device");
  expect(second.highest).toBe(4);
  expect(second.log.said("warn")).toContain("counters of signed commands cannot be stored on this board");
  await site.end();
});
