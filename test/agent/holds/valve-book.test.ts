import { describe, expect, test } from "vitest";
import type { Ambient } from "../../../agent/base/ambient.ts";
import { isPostponed } from "../../../agent/base/postponed.ts";
import type { ActLimits } from "../../../agent/holds/act-limit.ts";
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
  readonly log = new RecordingLog();
  limit = 3;
  /** The share of each namespace in the acts on pods. */
  share = 1;
  /** The namespaces that run pods. */
  namespaces: readonly string[] = [];
  isCut = false;
  /** Whether another renewal begins as soon as one is done. */
  isBusy = false;

  constructor(lease = new SharedLease(), clock = new FakeClock(), disk = new Disk()) {
    this.clock = clock;
    this.lease = lease;
    const ambient: Ambient = { clock, random: new SeededRandom(), log: this.log };
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

  get limits(): ActLimits {
    return { acts: () => this.limit, shareOf: () => this.share, namespaces: () => new Set(this.namespaces) };
  }

  get view() {
    return this.book.view(this.limits, this.clock.now());
  }

  async renew(): Promise<void> {
    const text = this.book.carried();
    await new Promise<void>((resolve) => this.clock.after(20, resolve));
    if (this.isCut) return new Promise(() => {});
    this.lease.text = text;
    this.lease.writes++;
    for (let turn = 0; turn < 20 && this.isBusy; turn++) void Promise.resolve().then(() => this.#renewsAgain(turn));
  }

  async #renewsAgain(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    this.book.carried();
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
    return await this.#ask(objects.map((object) => [object, undefined]));
  }

  async act(...objects: readonly string[]): Promise<number> {
    return done(await this.ask(...objects));
  }

  /** Asks for the evictions of so many pods of a namespace, all at once. */
  async askToEvict(namespace: string, count: number): Promise<((effect: ActEffect) => void)[]> {
    return await this.#ask(Array.from({ length: count }, () => [`${namespace} ${this.#named++}`, namespace]));
  }

  async evict(namespace: string, count: number): Promise<number> {
    return done(await this.askToEvict(namespace, count));
  }

  #named = 0;

  async #ask(acts: readonly (readonly [string, string | undefined])[]): Promise<((effect: ActEffect) => void)[]> {
    const answers = Promise.allSettled(acts.map(([act, namespace]) => this.book.admit(act, this.limits, namespace)));
    await this.clock.advance(this.isCut ? "41s" : "11s");
    return (await answers).flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }
}

function done(admitted: readonly ((effect: ActEffect) => void)[]): number {
  for (const settle of admitted) settle("done");
  return admitted.length;
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
    const answer = board.book.admit("d", board.limits);
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
    expect(board.view.acts).toBe(2);
    // The conflict shows that the first attempt took effect.
    const [again] = await board.ask("b");
    again?.("none");
    expect(board.view.acts).toBe(2);
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
    expect(board.view).toMatchObject({ acts: 8, isUnknown: false });
  });

  test("writes each act to the Lease before it is sent, and nothing else", async () => {
    const board = leader();
    await board.ask("a", "b");
    expect(JSON.parse(board.lease.text ?? "")).toEqual({ v: 1, total: 2, acts: [], admitted: 2 });
    expect(board.lease.writes).toBe(1);
    await board.clock.advance("1h");
    expect(board.lease.writes).toBe(1);
  });

  test("gives acts that it did not send back with the next renewal, and shows them as free until then", async () => {
    const board = leader();
    for (const settle of await board.ask("a", "b", "c")) settle("none");
    expect(board.view).toMatchObject({ acts: 0, opensAt: board.clock.now() });
    await board.renewed();
    expect(JSON.parse(board.lease.text ?? "")).toEqual({ v: 1, total: 3, acts: [] });
    const next = new Board(board.lease, board.clock).lead();
    expect(await next.act("d", "e", "f")).toBe(3);
  });

  test("writes another act for a caller that comes while one is being written", async () => {
    const board = leader();
    const first = board.book.admit("a", board.limits);
    await board.clock.advance(10);
    const second = board.book.admit("b", board.limits);
    await board.clock.advance("1s");
    (await first)("done");
    (await second)("done");
    expect(board.view.acts).toBe(2);
    expect(board.lease.writes).toBe(2);
  });

  test("gives none back that a caller waits for, even if the next renewal begins at that moment", async () => {
    const board = leader();
    board.isBusy = true;
    expect(await board.act("a")).toBe(1);
    expect(board.lease.writes).toBe(1);
  });

  test("counts an act anew that is repeated an hour after its answer was lost", async () => {
    const board = leader();
    const [a] = await board.ask("a");
    a?.("uncertain");
    await board.clock.advance("62m");
    expect(await board.act("b", "c", "d")).toBe(3);
    expect(await board.act("a")).toBe(0);
  });

  test("does not send or count an act that cannot be written to the Lease", async () => {
    const board = leader();
    board.isCut = true;
    expect(await board.ask("a")).toHaveLength(0);
    board.isCut = false;
    expect(await board.act("a", "b", "c", "d")).toBe(3);
  });
});

describe("the acts of an hour are shared", () => {
  /** One board was tainted, so nine acts are left, of which two are kept for taints. */
  async function tainted({ share = 0.5 } = {}): Promise<Board> {
    const board = leader();
    board.limit = 10;
    board.share = share;
    await board.act("pi-1");
    return board;
  }

  /** How many evictions are admitted if five pods of each of these namespaces are due at the same moment. */
  async function due(board: Board, namespaces: readonly string[]): Promise<number> {
    const pods = namespaces.flatMap((namespace) => [1, 2, 3, 4, 5].map((pod) => [namespace, pod] as const));
    const answers = await Promise.allSettled(
      pods.map(([namespace, pod]) => board.book.admit(`${namespace}-${pod}`, board.limits, namespace)),
    );
    return done(answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : [])));
  }

  test("pods leave a fifth of them for boards that fall silent later", async () => {
    const board = await tainted({ share: 1 });
    expect(await board.evict("shop", 30)).toBe(7);
    expect(await board.act("pi-2", "pi-3", "pi-4")).toBe(2);
  });

  test("the pods of one namespace leave half to those of others, which may tolerate a dead board for longer", async () => {
    const board = await tainted();
    expect(await board.evict("shop", 30)).toBe(4);
    await board.clock.advance("5m");
    expect(await board.evict("shop", 30)).toBe(0);
    expect(await board.evict("web", 5)).toBe(2);
    expect(await board.evict("db", 1)).toBe(1);
    expect(await board.act("pi-2", "pi-3", "pi-4")).toBe(2);
  });

  test("three namespaces of a tenant leave one to a fourth one, whose pods tolerate a dead board for longer", async () => {
    const board = await tainted();
    board.namespaces = ["t1", "t2", "t3", "shop"];
    expect(await board.act("pi-2")).toBe(1);
    const tenant = async () => [await board.evict("t1", 15), await board.evict("t2", 15), await board.evict("t3", 15)];
    expect(await tenant()).toEqual([3, 1, 1]);
    await board.clock.advance("5m");
    expect(await tenant()).toEqual([0, 0, 0]);
    expect(await board.evict("shop", 4)).toBe(1);
    expect(await board.act("pi-3", "pi-4", "pi-5")).toBe(2);
  });

  test("no more of them are on the Lease than may be sent", async () => {
    const board = await tainted();
    await board.askToEvict("shop", 30);
    expect(JSON.parse(board.lease.text ?? "")).toMatchObject({ total: 5, admitted: 4 });
    const others = ["web", "db"].map((name) => board.book.admit(name, board.limits, name));
    const boards = Array.from({ length: 5 }, (_, index) => board.book.admit(`pi-${index}`, board.limits));
    const answers = Promise.allSettled([...boards, ...others]);
    await board.clock.advance("11s");
    await answers;
    expect(JSON.parse(board.lease.text ?? "")).toMatchObject({ total: 10 });
  });

  test("a board is tainted, however many pods are due at the same moment", async () => {
    const board = await tainted();
    const pods = Array.from({ length: 30 }, (_, pod) => board.book.admit(`web-${pod}`, board.limits, "shop"));
    const boards = ["pi-2", "pi-3"].map((name) => board.book.admit(name, board.limits));
    const admitted = Promise.all([Promise.allSettled(pods), Promise.allSettled(boards)]);
    await board.clock.advance("11s");
    const counts = (await admitted).map((answers) => answers.filter(({ status }) => status === "fulfilled").length);
    expect(counts).toEqual([4, 2]);
  });

  test("a fifth is left on the Lease for boards if pods of several namespaces are due at the same moment", async () => {
    const board = await tainted();
    const pods = due(board, ["shop", "web", "db"]);
    await board.clock.advance("10ms");
    const late = ["pi-2", "pi-3"].map((name) => board.book.admit(name, board.limits));
    await board.clock.advance("15ms");
    expect(JSON.parse(board.lease.text ?? "")).toMatchObject({ total: 8, admitted: 7 });
    await board.clock.advance("11s");
    expect(await pods).toBe(7);
    expect(done(await Promise.all(late))).toBe(2);
  });

  test("boards can be tainted by the next leader if the power fails while pods of several namespaces are due", async () => {
    const board = await tainted();
    void due(board, ["shop", "web", "db"]);
    await board.clock.advance("25ms");
    const next = new Board(board.lease, board.clock).lead();
    [next.limit, next.share] = [10, 0.5];
    expect(await next.evict("shop", 1)).toBe(0);
    expect(await next.act("pi-2", "pi-3", "pi-4")).toBe(2);
  });

  test("pods and boards that are due at the same moment have their parts in one write", async () => {
    const board = await tainted();
    const { writes } = board.lease;
    const boards = ["pi-2", "pi-3", "pi-4"].map((name) => board.book.admit(name, board.limits));
    const answers = Promise.allSettled(boards);
    void due(board, ["shop", "web", "db"]);
    await board.clock.advance("25ms");
    expect(board.lease.writes).toBe(writes + 1);
    expect(JSON.parse(board.lease.text ?? "")).toMatchObject({ total: 10, admitted: 9 });
    await answers;
  });

  test("an act without an effect is given back to its namespace", async () => {
    const board = await tainted();
    for (const settle of await board.askToEvict("shop", 4)) settle("none");
    expect(await board.evict("shop", 30)).toBe(4);
  });

  test("an act is repeated at the expense of no further act of its namespace", async () => {
    const board = await tainted();
    const admit = async () => await board.book.admit("web-1", board.limits, "shop");
    const first = admit();
    await board.clock.advance("1s");
    (await first)("uncertain");
    (await admit())("none");
    expect(await board.evict("shop", 30)).toBe(3);
  });

  test("an hour later a namespace has its share again", async () => {
    const board = await tainted();
    await board.evict("shop", 30);
    await board.clock.advance("62m");
    expect(await board.evict("shop", 30)).toBe(4);
    expect(board.book.mostUsed(3, board.clock.now())).toEqual([{ namespace: "shop", acts: 4 }]);
  });

  test("the next leader gives each namespace its share of what the hour has left", async () => {
    const board = await tainted();
    await board.evict("shop", 30);
    await board.renewed();
    const next = new Board(board.lease, board.clock).lead();
    [next.limit, next.share] = [10, 0.5];
    expect(await next.evict("shop", 30)).toBe(2);
    expect(await next.evict("web", 30)).toBe(1);
    expect(await next.act("pi-2", "pi-3", "pi-4")).toBe(2);
  });

  test("a board that leads again counts the shares anew", async () => {
    const board = await tainted();
    await board.evict("shop", 30);
    await board.renewed();
    board.book.end();
    board.lead();
    expect(board.book.mostUsed(3, board.clock.now())).toEqual([]);
  });

  test("all are open to every namespace while the valve is released", async () => {
    const board = await tainted();
    board.limit = Number.POSITIVE_INFINITY;
    expect(await board.evict("shop", 30)).toBe(30);
  });

  test("controllers see for each namespace whether its next act is admitted, and why not", async () => {
    const board = await tainted();
    const on = (namespace?: string) => board.book.view(board.limits, board.clock.now(), namespace);
    expect(on("shop")).toMatchObject({ acts: 1, opensAt: board.clock.now() });
    await board.evict("shop", 30);
    expect(on("shop")).toMatchObject({ acts: 5, of: "share", usedByNamespace: 4 });
    const opensAt = on("shop").opensAt?.mono ?? 0;
    expect(opensAt - board.clock.now().mono).toBeGreaterThan(3_600_000 - 60_000);
    expect(on("web")).toMatchObject({ acts: 5, usedByNamespace: 0, opensAt: board.clock.now() });
    await board.evict("web", 30);
    await board.evict("db", 30);
    expect(on("web")).toMatchObject({ acts: 8, of: "pods" });
    expect(on("web").opensAt).not.toEqual(board.clock.now());
    expect(on()).toMatchObject({ acts: 8, of: "acts", opensAt: board.clock.now() });
    await board.act("pi-2", "pi-3");
    expect([on("shop"), on()]).toMatchObject(Array.from({ length: 2 }, () => ({ acts: 10, of: "acts" })));
    expect(board.book.mostUsed(2, board.clock.now())).toEqual([
      { namespace: "shop", acts: 4 },
      { namespace: "web", acts: 2 },
    ]);
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
    expect(board.view.acts).toBe(2);
  });

  test("sends no act on a write of an earlier term, which arrived only then", async () => {
    const board = leader();
    const late = board.book.admit("a", board.limits).catch(() => "not admitted");
    await board.clock.advance(0);
    board.book.end();
    board.lead();
    await board.clock.advance("1s");
    expect(await late).toBe("not admitted");
    const { writes } = board.lease;
    expect(await board.act("b")).toBe(1);
    expect(board.lease.writes).toBe(writes + 1);
  });

  test("does not take a write that failed for a restored Lease", async () => {
    const board = leader();
    await board.act("a");
    board.isCut = true;
    await board.ask("b");
    board.isCut = false;
    board.book.end();
    expect(await board.lead().act("b", "c", "d")).toBe(2);
  });

  test("is not said to hold acts because of those that this board held in an earlier term", async () => {
    const board = leader();
    await board.act("a", "b", "c", "d");
    board.book.observe(false);
    expect(board.book.holdingSince).toBeDefined();
    board.book.end();
    board.lead();
    board.book.observe(false);
    expect(board.book.holdingSince).toBeUndefined();
  });

  test("leaves its held acts to the next leader, and does not report the valve as open", async () => {
    const board = leader();
    board.book.observe(true);
    board.book.end();
    expect(board.changes).toEqual([true]);
    expect(board.book.holdingSince).toBeUndefined();
    expect(board.log.said("info")).toEqual(["harmful acts held by the safety valve are left to the next leader"]);
  });

  test("admits nothing after its term", async () => {
    const board = leader();
    board.book.end();
    await expect(board.book.admit("a", board.limits)).rejects.toThrow("does not lead");
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
    expect(board.view).toMatchObject({ acts: 0, isUnknown: true });
    const onPods = board.book.view(board.limits, board.clock.now(), "shop");
    expect(onPods).toMatchObject({ isUnknown: true, opensAt: board.view.opensAt });
    expect(onPods.opensAt).toBeDefined();
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

  test.each([
    ["is given what a process of this board stored, if it is recent", "2m", "boot-1", 1],
    ["permits nothing for an hour if what it stored is old", "4m", "boot-1", 0],
    ["permits nothing for an hour if the board was rebooted since, so that its age is unknown", "2m", "boot-2", 0],
  ] as const)("%s", async (_, age, boot, admitted) => {
    const disk = new Disk();
    const board = new Board(undefined, undefined, disk).lead({ isFirst: true });
    await board.act("a", "b");
    board.lease.text = undefined;
    await board.clock.advance(age);
    disk.boot = boot;
    expect(await new Board(board.lease, board.clock, disk).lead().act("c", "d")).toBe(admitted);
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

  test("holds the acts of a board that remembers more no longer because its process was restarted", async () => {
    const disk = new Disk();
    const board = new Board(undefined, undefined, disk).lead({ isFirst: true });
    await board.act("a", "b", "c");
    board.lease.text = '{"v":1,"total":0,"acts":[]}';
    await board.clock.advance("50m");
    const restarted = new Board(board.lease, board.clock, disk).lead();
    expect(await restarted.act("d")).toBe(0);
    await board.clock.advance("13m");
    expect(await restarted.act("d", "e", "f")).toBe(3);
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
    expect(next.view.isUnknown).toBe(true);
    next.book.end();
    await board.clock.advance("63m");
    const much = new Board(board.lease, board.clock, disk);
    much.lease.text = '{"v":1,"total":0,"acts":[]}';
    expect(await much.lead().act("a")).toBe(1);
  });

  test("permits nothing for an hour after the last reboot of a board that noticed that, and everything later", async () => {
    const disk = new Disk();
    const clock = new FakeClock();
    const lease = new SharedLease();
    lease.text = '{"v":1,"total":0,"acts":[]}';
    new Board(lease, clock, disk).memory.restored();
    await clock.advance("40m");
    disk.boot = "boot-2";
    expect(await new Board(lease, clock, disk).lead().act("a")).toBe(0);
    await clock.advance("40m");
    expect(await new Board(lease, clock, disk).lead().act("a")).toBe(0);
    await clock.advance("22m");
    lease.text = '{"v":1,"total":0,"acts":[]}';
    expect(await new Board(lease, clock, disk).lead().act("a")).toBe(1);
    // It is forgotten for good: the next reboot does not begin another hour.
    disk.boot = "boot-3";
    expect(await new Board(lease, clock, disk).lead().act("b")).toBe(1);
  });

  test("continues with what this board remembers if that is recent and nothing has been admitted since", async () => {
    const board = leader();
    await board.act("a", "b");
    board.book.end();
    board.memory.restored();
    expect(await board.lead().act("c", "d")).toBe(1);
  });

  test("does not refill the valve if the backup holds the Lease that a person has deleted since", async () => {
    const disk = new Disk();
    const board = new Board(undefined, undefined, disk).lead({ isFirst: true });
    await board.act("a");
    const backup = board.lease.text;
    board.lease.uid = "lease-2";
    board.lead();
    await board.act("b", "c");
    board.book.end();
    board.memory.restored();
    board.lease.uid = "lease-1";
    board.lease.text = backup;
    board.read();
    expect(await board.lead().act("d")).toBe(0);
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
