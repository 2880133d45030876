import { afterEach, describe, expect, test } from "vitest";
import { heardNow } from "../../../agent/judgement/lan-answer.ts";
import type { Announcement } from "../../../agent/witness/announcement.ts";
import { Answerer } from "../../../agent/witness/answerer.ts";
import { BoardKey } from "../../../agent/witness/board-key.ts";
import { Calibration } from "../../../agent/witness/calibration.ts";
import { decodeAnswer, encodeAnswer, encodeQuestion, signedBytes } from "../../../agent/witness/datagrams.ts";
import { type KubeletAnswer, KubeletHealth } from "../../../agent/witness/kubelet-health.ts";
import { QuestionPort } from "../../../agent/witness/question-port.ts";
import { Questioner } from "../../../agent/witness/questioner.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { LanInMemory, networkOf } from "./lan-in-memory.ts";

const [site, board, port] = ["plant", "pi-3", 10270];
const firstBoot = "0b21f8a4-6c5d-4e7a-9f10-3d2c1b0a9e81";
const nextBoot = "7f3e9c52-18ab-4d06-8c77-5a4b3c2d1e0f";
const [leaderAt, boardAt] = ["192.168.7.1", "192.168.7.3"];

const newKey = (): BoardKey => BoardKey.kept({ read: () => undefined, write: () => {} }, new RecordingLog());

const stories: Story[] = [];
afterEach(async () => {
  for (const story of stories.splice(0)) await story.end();
});

/** A leader and a board on one LAN. */
class Story {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly lan = new LanInMemory();
  readonly key = newKey();
  /** What is in the kubelet's file, and how often it was written. */
  kept: string | undefined;
  writes = 0;
  isDiskFull = false;
  reportedBoot: string | undefined;
  kubelet: KubeletAnswer = "ok";
  announced: Announcement | undefined;
  /** The board's address. */
  address = boardAt;
  /** The addresses that reach everyone on the LAN. */
  everyone: readonly string[] = [];
  doubted: readonly string[] | undefined = [];
  answerer: Answerer;
  readonly questioner: Questioner;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>[] = [];
  #process = new AbortController();

  constructor() {
    stories.push(this);
    const ambient = { clock: this.clock, log: this.log, random: new SeededRandom(1) };
    this.announced = { key: this.key.publicText, port, addresses: [boardAt] };
    this.answerer = this.#agent(firstBoot);
    this.questioner = new Questioner(ambient, {
      lan: this.lan.of(leaderAt),
      site,
      calibration: new Calibration(),
      askGateway: () => Promise.resolve(false),
      paths: () => networkOf,
      everyoneOn: () => this.everyone,
      addresses: () => [],
    });
  }

  async boardOn(): Promise<void> {
    this.#running.push(this.answerer.run(this.#process.signal));
    await this.clock.advance(1);
  }

  /** The board's agent ends, and another process of it starts, perhaps in another boot. */
  async restart(bootId = firstBoot): Promise<void> {
    this.#process.abort();
    this.#process = new AbortController();
    await this.clock.advance(1);
    this.answerer = this.#agent(bootId);
    await this.boardOn();
  }

  async lead(): Promise<void> {
    const doubts = {
      inDoubt: () => this.doubted,
      others: () => [],
      announced: () => this.announced,
      reportedBoot: () => this.reportedBoot,
    };
    this.#running.push(this.questioner.run(doubts, this.#ending.signal));
    await this.clock.advance(1);
  }

  get heard() {
    return heardNow(
      this.questioner.wordOf(board)?.word,
      { silentMs: 930_000, graceMs: 40_000, unmanagedHold: 900_000 },
      this.clock.now(),
    );
  }

  get questions(): number {
    return this.lan.sent.filter(({ from }) => from.startsWith(leaderAt)).length;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    this.#process.abort();
    await Promise.all(this.#running);
  }

  #agent(bootId: string): Answerer {
    const ambient = { clock: this.clock, log: this.log, random: new SeededRandom(1) };
    const file = {
      read: () => this.kept,
      write: (text: string) => {
        if (this.isDiskFull) throw new Error("no space left on device");
        this.writes++;
        this.kept = text;
      },
    };
    const kubelet = new KubeletHealth(ambient, { ask: () => Promise.resolve(this.kubelet), file, bootId });
    return new Answerer(ambient, { lan: this.lan.of(this.address), port, site, board, bootId, key: this.key, kubelet });
  }
}

async function inDoubt(): Promise<Story> {
  const story = new Story();
  await story.boardOn();
  story.doubted = [board];
  await story.lead();
  return story;
}

describe("a leader", () => {
  test("asks no board and opens no port while no board is in doubt", async () => {
    const story = new Story();
    await story.boardOn();
    await story.lead();
    await story.clock.advance("1h");
    expect(story.lan.sent).toEqual([]);
    expect(story.lan.open).toEqual([`${boardAt}:${port}`]);
  });

  test("asks a silent board every 5 s, receives its answers, and closes its port when the board sends heartbeats again", async () => {
    const story = await inDoubt();
    expect(story.heard).toBe("kubelet ok");
    await story.clock.advance("20s");
    expect(story.questions).toBe(5);
    expect(story.log.said("info")).toEqual(["a silent board answers on the LAN"]);
    story.doubted = [];
    await story.clock.advance("5s");
    expect(story.heard).toBe(undefined);
    expect(story.lan.open).toEqual([`${boardAt}:${port}`]);
    expect(story.questions).toBe(5);
  });

  test("trusts a board for 30 s after its last word", async () => {
    const story = await inDoubt();
    story.lan.isUp = false;
    await story.clock.advance(29_998);
    expect(story.heard).toBe("kubelet ok");
    await story.clock.advance(10);
    expect(story.heard).toBe(undefined);
  });

  test("keeps a word while it does not know which boards are silent, and does not ask any", async () => {
    const story = await inDoubt();
    story.doubted = undefined;
    await story.clock.advance("10m");
    expect(story.heard).toBe("kubelet ok");
    expect(story.questions).toBe(1);
    story.doubted = [board];
    story.lan.isUp = false;
    await story.clock.advance("40s");
    expect(story.heard).toBe(undefined);
  });

  test("forgets every word at the end of its term", async () => {
    const story = await inDoubt();
    await story.end();
    expect(story.heard).toBe(undefined);
    expect(story.lan.open).toEqual([]);
  });

  test("asks at most 200 boards at a time, beginning with those that it asked longest ago", async () => {
    const story = new Story();
    story.doubted = Array.from({ length: 500 }, (_, index) => `b-${index}`);
    await story.lead();
    expect(story.questions).toBe(200);
    await story.clock.advance("10s");
    expect(new Set(story.lan.sent.map(({ datagram }) => Buffer.from(datagram).subarray(20).toString())).size).toBe(500);
  });

  test("receives no answer from a board that announces nothing, or that is off", async () => {
    const story = new Story();
    story.doubted = [board];
    await story.lead();
    expect(story.heard).toBe(undefined);
    await story.boardOn();
    story.announced = undefined;
    await story.clock.advance("1m");
    expect(story.heard).toBe(undefined);
  });

  test("logs once what keeps it from asking, and reports it until a question is sent again", async () => {
    const story = await inDoubt();
    const refused = Object.assign(new Error(`send EPERM ${boardAt}:${port}`), { code: "EPERM" });
    story.lan.barred.set(boardAt, refused);
    await story.clock.advance("1m");
    expect(story.questioner.problem).toBe("EPERM");
    expect(story.log.said("warn")).toEqual(["boards cannot be asked on the LAN"]);
    expect(story.heard).toBe(undefined);
    story.lan.barred.clear();
    await story.clock.advance("10s");
    expect(story.questioner.problem).toBe(undefined);
    expect(story.heard).toBe("kubelet ok");
  });

  test("hears a board that got another address while it could not announce it, by asking everyone on its network", async () => {
    const story = await inDoubt();
    story.address = "192.168.7.33";
    await story.restart();
    await story.clock.advance("1m");
    expect(story.heard).toBe(undefined);
    story.everyone = ["192.168.7.255"];
    await story.clock.advance("10s");
    expect(story.heard).toBe("kubelet ok");
    story.address = boardAt;
    await story.restart();
    await story.clock.advance("10s");
    const toAll = story.lan.sent.filter(({ to }) => to.startsWith("192.168.7.255")).length;
    await story.clock.advance("1m");
    expect(story.heard).toBe("kubelet ok");
    expect(story.lan.sent.filter(({ to }) => to.startsWith("192.168.7.255"))).toHaveLength(toAll);
  });

  test("hears such a board although another machine on the LAN answers each question to everyone wrongly, and first", async () => {
    const story = await inDoubt();
    const wrong = { boot: "", kubelet: { is: "ok" }, signature: new Uint8Array(64) } as const;
    const stranger = await story.lan.of("192.168.7.66").open(port, (question, reply) => {
      for (let times = 0; times < 50; times++) reply(encodeAnswer({ nonce: question.slice(4, 20), ...wrong }));
    });
    story.everyone = ["192.168.7.255"];
    story.address = "192.168.7.33";
    await story.restart();
    await story.clock.advance("45s");
    expect(story.heard).toBe("kubelet ok");
    stranger.close();
  });

  test("hears such a board also if it was off the LAN for minutes before", async () => {
    const story = await inDoubt();
    story.everyone = ["192.168.7.255"];
    story.lan.isUp = false;
    await story.clock.advance("10m");
    story.address = "192.168.7.33";
    await story.restart();
    story.lan.isUp = true;
    await story.clock.advance("65s");
    expect(story.heard).toBe("kubelet ok");
  });

  test("asks everyone for each of hundreds of silent boards in turn, for sixteen in a round", async () => {
    const story = new Story();
    story.everyone = ["192.168.7.255"];
    story.doubted = Array.from({ length: 600 }, (_, index) => `b-${index}`);
    await story.lead();
    await story.clock.advance("5m");
    const toAll = story.lan.sent.filter(({ to }) => to.startsWith("192.168.7.255"));
    expect(new Set(toAll.map(({ datagram }) => Buffer.from(datagram).subarray(20).toString())).size).toBe(600);
    expect(toAll.length).toBeLessThanOrEqual(61 * 16);
  });

  test("is not kept from an answer by wrong ones to the questions that everyone on the network can read", async () => {
    const lan = new LanInMemory();
    const ambient = { clock: new FakeClock(), log: new RecordingLog(), random: new SeededRandom(1) };
    const everyoneOn = () => ["192.168.7.255"];
    const asking = new QuestionPort(
      ambient,
      { lan: lan.of(leaderAt), site, paths: () => networkOf, everyoneOn },
      () => {},
    );
    const stranger = await lan.of("192.168.7.66").open(port, (question, reply) => {
      const wrong = { boot: "", kubelet: { is: "ok" }, signature: new Uint8Array(64) } as const;
      for (let times = 0; times < 50; times++) reply(encodeAnswer({ nonce: question.slice(4, 20), ...wrong }));
    });
    await asking.open(new AbortController().signal);
    const announced = { key: newKey().publicText, port, addresses: [boardAt] };
    asking.ask(board, announced);
    asking.askEveryone(board, announced, ["192.168.7"]);
    expect(asking.outcome(board)).toBe("unanswered");
    asking.close();
    stranger.close();
  });

  test("is not affected by one address of a board that cannot be reached", async () => {
    const story = await inDoubt();
    story.announced = { key: story.key.publicText, port, addresses: ["fd00::3", boardAt] };
    story.lan.barred.set("fd00::3", new Error("no IPv6"));
    await story.clock.advance("1m");
    expect(story.heard).toBe("kubelet ok");
    expect(story.questioner.problem).toBe(undefined);
  });

  test("continues to ask after its socket failed, or after none could be opened for a while", async () => {
    const story = await inDoubt();
    const [, own = ""] = story.lan.open;
    story.lan.refusal = Object.assign(new Error("socket EAFNOSUPPORT"), { code: "EAFNOSUPPORT" });
    story.lan.break(own, new Error("recvmsg ENETDOWN"));
    await story.clock.advance("1m");
    expect(story.heard).toBe(undefined);
    expect(story.questioner.problem).toBe("EAFNOSUPPORT");
    story.lan.refusal = undefined;
    await story.clock.advance("5s");
    expect(story.heard).toBe("kubelet ok");
  });
});

describe("a board whose kubelet does not run, as it reports to the leader,", () => {
  test("is held in the boot in which its kubelet reported", async () => {
    const story = new Story();
    story.kubelet = "unhealthy";
    await story.boardOn();
    story.reportedBoot = firstBoot;
    story.doubted = [board];
    await story.lead();
    expect(story.heard).toBe("kubelet down");
  });

  test("is one whose kubelet is not known, while a process keeps all others from connecting to it", async () => {
    const story = new Story();
    await story.boardOn();
    story.doubted = [board];
    await story.lead();
    expect(story.heard).toBe("kubelet ok");
    story.kubelet = "unasked";
    await story.clock.advance("1h");
    expect(story.heard).toBe("kubelet unknown");
    // Nothing listens any more.
    story.kubelet = "silent";
    await story.clock.advance("1m");
    expect(story.heard).toBe("kubelet down");
  });

  test.each(["unhealthy", "silent"] as const)("is not held after a restart of the board (%s)", async (kubelet) => {
    const story = new Story();
    story.kubelet = kubelet;
    story.reportedBoot = firstBoot;
    story.doubted = [board];
    await story.boardOn();
    await story.restart(nextBoot);
    await story.lead();
    expect(story.heard).toBe("no kubelet since boot");
  });

  test("is held as long as its kubelet runs, regardless of how often the board restarts while it is cut off", async () => {
    const story = await inDoubt();
    story.reportedBoot = firstBoot;
    for (let times = 0; times < 20; times++) {
      await story.restart(times % 2 === 0 ? nextBoot : firstBoot);
      await story.clock.advance("15s");
      expect(story.heard).toBe("kubelet ok");
    }
  });

  test.each([undefined, "", "unknown", firstBoot.toUpperCase()])(
    "is held if its Node has the boot %j, which shows no restart",
    async (reported) => {
      const story = new Story();
      story.kubelet = "silent";
      story.reportedBoot = reported;
      story.doubted = [board];
      await story.boardOn();
      await story.lead();
      expect(story.heard).toBe("kubelet unknown");
    },
  );

  test("is held if it does not know its own boot", async () => {
    const story = new Story();
    story.kubelet = "silent";
    story.reportedBoot = firstBoot;
    story.doubted = [board];
    await story.restart("unknown");
    await story.lead();
    expect(story.heard).toBe("kubelet unknown");
  });
});

describe("an answer is not trusted", () => {
  /** The board is off, and an attacker sees each question. */
  async function attacked(answer: (question: Uint8Array, story: Story) => Uint8Array | undefined): Promise<Story> {
    const story = new Story();
    story.doubted = [board];
    const attacker = await story.lan.of(boardAt).open(port, (datagram, reply) => {
      const forged = answer(datagram, story);
      if (forged) for (let times = 0; times < 20; times++) reply(forged);
    });
    await story.lead();
    await story.clock.advance("1m");
    attacker.close();
    return story;
  }

  const nonceOf = (question: Uint8Array): Uint8Array => question.slice(4, 20);
  const statement = { boot: "boot-1", kubelet: { is: "ok" } } as const;
  const answerOf = (key: BoardKey, about: { nonce: Uint8Array; site: string; board: string }, nonce = about.nonce) =>
    encodeAnswer({ nonce, ...statement, signature: key.sign(signedBytes(about, statement)) });

  test("unless everything in it is valid", async () => {
    const story = await attacked((question, { key }) => answerOf(key, { nonce: nonceOf(question), site, board }));
    expect(story.heard).toBe("kubelet ok");
  });

  const other = newKey();
  let recorded: Uint8Array | undefined;
  test.each([
    ["signed by another key", (question: Uint8Array) => answerOf(other, { nonce: nonceOf(question), site, board })],
    [
      "that the same board signed for another site",
      (question: Uint8Array, { key }: Story) => answerOf(key, { nonce: nonceOf(question), site: "mill", board }),
    ],
    [
      "about another board",
      (question: Uint8Array, { key }: Story) => answerOf(key, { nonce: nonceOf(question), site, board: "pi-4" }),
    ],
    [
      "recorded earlier, with the current nonce",
      (question: Uint8Array, { key }: Story) =>
        answerOf(key, { nonce: Buffer.alloc(16, 9), site, board }, nonceOf(question)),
    ],
    [
      "recorded earlier, as it was",
      (question: Uint8Array, { key }: Story) => {
        const before = recorded;
        recorded ??= answerOf(key, { nonce: Buffer.alloc(16, 9), site, board });
        return before ?? question;
      },
    ],
    ["that is the question itself", (question: Uint8Array) => question],
    [
      "that contains more than was signed",
      (question: Uint8Array, { key }: Story) => {
        const signature = key.sign(signedBytes({ nonce: nonceOf(question), site, board }, statement));
        return encodeAnswer({ nonce: nonceOf(question), boot: "boot-2", kubelet: { is: "ok" }, signature });
      },
    ],
  ])("%s", async (_, answer) => {
    const story = await attacked(answer);
    expect(story.questions).toBeGreaterThan(10);
    expect(story.heard).toBe(undefined);
  });

  test("if it comes after the next question", async () => {
    let last: Uint8Array | undefined;
    const story = await attacked((question, { key }) => {
      const before = last;
      last = answerOf(key, { nonce: nonceOf(question), site, board });
      return before;
    });
    expect(story.heard).toBe(undefined);
  });

  test("but forged answers do not crowd out the board's own, which comes first", async () => {
    const story = await inDoubt();
    for (let at = 0; at < 12; at++) {
      for (let times = 0; times < 50; times++) {
        const forged = answerOf(other, { nonce: Buffer.alloc(16, times), site, board });
        for (const open of story.lan.open) story.lan.write(forged, "192.168.7.66:1", open);
      }
      await story.clock.advance("5s");
    }
    expect(story.heard).toBe("kubelet ok");
  });
});

describe("a board", () => {
  const nonce = Buffer.alloc(16, 5);
  const asked = (changes: Partial<{ site: string; board: string }> = {}) =>
    encodeQuestion({ nonce, site, board, ...changes });
  const at = `${boardAt}:${port}`;
  const answers = ({ lan }: Story) => lan.sent.filter(({ from }) => from === at);

  test.each([
    ["of another site", asked({ site: "mill" })],
    ["to another board", asked({ board: "pi-4" })],
    ["cut short", asked().subarray(0, 100)],
    ["with nothing in it", Buffer.alloc(0)],
  ])("does not answer a question %s", async (_, question) => {
    const story = new Story();
    await story.boardOn();
    story.lan.write(question, "192.168.7.66:1", at);
    await story.clock.advance("1s");
    expect(answers(story)).toEqual([]);
  });

  test("gives at most ten answers a second, none longer than its question", async () => {
    const story = new Story();
    await story.boardOn();
    for (let tenth = 0; tenth < 100; tenth++) {
      for (let times = 0; times < 100; times++) story.lan.write(asked(), "192.168.7.66:1", at);
      await story.clock.advance(100);
    }
    expect(answers(story).length).toBeGreaterThan(40);
    expect(answers(story).length).toBeLessThanOrEqual(60);
    for (const { datagram } of answers(story)) expect(datagram.length).toBeLessThanOrEqual(asked().length);
  });

  test("logs once why it cannot answer, and tries again each minute", async () => {
    const story = new Story();
    story.lan.refusal = new Error("bind EADDRINUSE 0.0.0.0:10270");
    await story.boardOn();
    await story.clock.advance("5m");
    expect(story.answerer.problem).toBe("bind EADDRINUSE 0.0.0.0:10270");
    expect(story.log.said("warn")).toEqual(["this board does not answer on the LAN"]);
    story.lan.refusal = undefined;
    await story.clock.advance("1m");
    expect(story.answerer.problem).toBe(undefined);
    expect(story.lan.open).toEqual([at]);
  });

  const stateAt = async (story: Story) => {
    story.lan.write(asked(), "192.168.7.1:1", at);
    await story.clock.advance(1);
    const last = answers(story).at(-1);
    return last && decodeAnswer(last.datagram)?.kubelet;
  };

  test("reports how long its kubelet has been down, until the kubelet runs again", async () => {
    const story = new Story();
    await story.boardOn();
    expect(await stateAt(story)).toEqual({ is: "ok" });
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 0 });
    // A leader is lost, and the next one asks again minutes later.
    await story.clock.advance("4m");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 240_000 });
    story.kubelet = "unhealthy";
    await story.clock.advance("1m");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 300_000 });
    story.kubelet = "ok";
    await story.clock.advance("10s");
    expect(await stateAt(story)).toEqual({ is: "ok" });
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 0 });
  });

  const seconds = async (story: Story): Promise<number | string | undefined> => {
    const state = await stateAt(story);
    return state?.is === "down" ? state.forMs / 1000 : state?.is;
  };

  test("notices within a minute that its kubelet has returned, even without a question", async () => {
    const story = new Story();
    await story.boardOn();
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await seconds(story)).toBe(0);
    story.kubelet = "ok";
    await story.clock.advance("1m");
    story.kubelet = "silent";
    await story.clock.advance("1h");
    expect(await seconds(story)).toBe(0);
    await story.clock.advance("1h");
    expect(await seconds(story)).toBe(3600);
  });

  test("does not count time in which it was suspended as time without its kubelet", async () => {
    const { clock, log } = new Story();
    const file = { read: () => undefined, write: () => {} };
    const health = new KubeletHealth({ clock, log }, { ask: async () => "unhealthy", file, bootId: firstBoot });
    expect(await health.state()).toEqual({ is: "down", forMs: 0 });
    await clock.advance("1h");
    expect(await health.state()).toEqual({ is: "down", forMs: 0 });
  });

  test("continues to count when its agent restarts again and again, with one write", async () => {
    const story = new Story();
    await story.boardOn();
    expect(await seconds(story)).toBe("ok");
    story.kubelet = "silent";
    await story.clock.advance("1s");
    expect(await seconds(story)).toBe(0);
    expect(story.writes).toBe(2);
    for (let times = 0; times < 80; times++) {
      await story.clock.advance("9s");
      await seconds(story);
      await story.restart();
      await story.clock.advance("6s");
      await seconds(story);
    }
    expect(await seconds(story)).toBeGreaterThanOrEqual(1200);
    expect(story.writes).toBe(2);
    story.kubelet = "ok";
    await story.clock.advance("10s");
    expect(await seconds(story)).toBe("ok");
    await story.restart();
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await seconds(story)).toBe(0);
  });

  test("does not claim a time before a restart because a busy kubelet missed one answer", async () => {
    const story = new Story();
    await story.boardOn();
    await seconds(story);
    story.kubelet = "silent";
    await story.clock.advance("1s");
    expect(await seconds(story)).toBe(0);
    await story.clock.advance("2h");
    await story.restart();
    expect(await seconds(story)).toBe(0);
    story.kubelet = "ok";
    await story.clock.advance("5s");
    expect(await seconds(story)).toBe("ok");
  });

  test("counts from its boot, because the clock of an earlier boot proves nothing", async () => {
    const story = new Story();
    await story.boardOn();
    await seconds(story);
    story.kubelet = "silent";
    await story.clock.advance("1s");
    await seconds(story);
    await story.clock.advance("10m");
    await story.restart(nextBoot);
    await story.clock.advance("6s");
    expect(await seconds(story)).toBe(6);
  });

  test.each([
    ["half a file", '{"v":1,"answ'],
    ["something else", "[1,2]"],
    ["a time in the future", JSON.stringify({ v: 1, answered: true, boot: firstBoot, downSince: 9e15 })],
    ["no number", JSON.stringify({ v: 1, answered: true, boot: firstBoot, downSince: "0" })],
  ])("starts from zero with %s", async (_, text) => {
    const story = new Story();
    story.kept = text;
    await story.restart();
    await seconds(story);
    story.kubelet = "unhealthy";
    await story.clock.advance("10s");
    expect(await seconds(story)).toBe(0);
  });

  test("continues when the disk is full and nothing can be stored", async () => {
    const story = new Story();
    story.isDiskFull = true;
    await story.boardOn();
    expect(await stateAt(story)).toEqual({ is: "ok" });
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 0 });
  });

  test("does not know a kubelet that has never answered, and asks it until it does, even after a restart", async () => {
    const story = new Story();
    story.kubelet = "silent";
    await story.boardOn();
    expect(await stateAt(story)).toEqual({ is: "unknown" });
    story.kubelet = "ok";
    await story.clock.advance("10m");
    story.kubelet = "silent";
    await story.clock.advance("10s");
    expect(await stateAt(story)).toEqual({ is: "down", forMs: 0 });
    expect(story.kept).toContain('"answered":true');
    await story.restart();
    await story.clock.advance("10s");
    expect(await stateAt(story)).toMatchObject({ is: "down" });
  });
});
