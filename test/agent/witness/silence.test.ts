import { afterEach, describe, expect, test } from "vitest";
import { elapsed } from "../../../agent/base/clock.ts";
import { askedFacts, lanSilenceOf } from "../../../agent/judgement/lan-silence.ts";
import type { Announcement } from "../../../agent/witness/announcement.ts";
import { Answerer } from "../../../agent/witness/answerer.ts";
import { BoardKey } from "../../../agent/witness/board-key.ts";
import { Calibration } from "../../../agent/witness/calibration.ts";
import { decodeQuestion, encodeAnswer, signedBytes } from "../../../agent/witness/datagrams.ts";
import { KubeletHealth } from "../../../agent/witness/kubelet-health.ts";
import type { PathTo } from "../../../agent/witness/lan.ts";
import { LeaderCalibration } from "../../../agent/witness/leader-calibration.ts";
import { Questioner } from "../../../agent/witness/questioner.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { LanInMemory, networkOf } from "./lan-in-memory.ts";

const [site, port, boot] = ["plant", 10270, "0b21f8a4-6c5d-4e7a-9f10-3d2c1b0a9e81"];
const noFile = { read: () => undefined, write: () => {} };

const stories: Story[] = [];
afterEach(async () => {
  for (const story of stories.splice(0)) await story.end();
});

interface Board {
  readonly name: string;
  /** On the LAN. */
  address: string;
  /** On other networks by which it is reached as well. */
  readonly others: string[];
  readonly key: BoardKey;
  power: AbortController | undefined;
  /** The address that it announces, if that is another one. */
  announcedAs?: string | undefined;
}

const inNewNetwork = (address: string): string => address.replace("192.168.7.", "192.168.8.");

/** A leader, which asks, and other boards on its LAN. */
class Story {
  readonly clock = new FakeClock();
  readonly lan = new LanInMemory();
  readonly calibration = new Calibration();
  doubted: readonly string[] | undefined = [];
  /** The path on which the gateway answers, if any. */
  gatewayOn: string | undefined;
  /** The leader's own addresses, on the LAN and by its uplink. */
  leadersAddresses: readonly string[] = ["192.168.7.1", "10.7.0.1"];
  gatewayQuestions = 0;
  /** Boards whose port is taken by another program. */
  readonly closed = new Set<string>();
  readonly #boards = new Map<string, Board>();
  readonly #ending = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly questioner: Questioner;

  constructor(...names: readonly string[]) {
    stories.push(this);
    for (const [index, name] of names.entries()) {
      const key = BoardKey.kept(noFile, new RecordingLog());
      this.#boards.set(name, { name, address: `192.168.7.${index + 2}`, others: [], key, power: undefined });
    }
    this.questioner = new Questioner(this.#ambient, {
      lan: { open: (port, receive) => this.lan.of(...this.leadersAddresses).open(port, receive) },
      paths: () => this.#paths(this.leadersAddresses),
      everyoneOn: (path) =>
        this.leadersAddresses
          .map(networkOf)
          .filter((network) => this.#interfaceOf(network) === path)
          .map((network) => `${network}.255`),
      addresses: () => this.leadersAddresses,
      site,
      calibration: this.calibration,
      askGateway: (path) => {
        this.gatewayQuestions++;
        return Promise.resolve(path === this.gatewayOn);
      },
    });
  }

  #paths(own: readonly string[]): PathTo {
    return (address) => {
      const network = networkOf(address);
      const isWithin = this.#isWide && network.startsWith("192.168.");
      return isWithin || own.some((one) => networkOf(one) === network) ? this.#interfaceOf(network) : `${network}.0/24`;
    };
  }

  #isWide = false;

  /** The leader's network becomes 192.168.0.0/16. */
  widen(): void {
    this.#isWide = true;
  }

  /** The LAN's interface has the name of its first network, whatever networks there are on it later. */
  #lanInterface = "192.168.7";

  #interfaceOf(network: string): string {
    return network.startsWith("192.168.") ? this.#lanInterface : network;
  }

  /** The leader's LAN port becomes part of a bridge. */
  rename(lanInterface: string): void {
    this.#lanInterface = lanInterface;
  }

  get #ambient() {
    return { clock: this.clock, log: new RecordingLog(), random: new SeededRandom(1) };
  }

  /** A board loses its power, and is asked for this long. */
  async dies(name: string, wait: string): Promise<void> {
    this.off(name);
    this.doubted = [name];
    await this.clock.advance(wait);
  }

  /** From here on these boards are also reached by their uplinks. */
  reachByUplink(...names: readonly string[]): void {
    for (const name of names) this.board(name).others.push(this.uplinkOf(name));
  }

  /** It announces an address that no other machine can reach. */
  announceToo(name: string, address: string): void {
    this.board(name).others.push(address);
  }

  /** Their addresses on the uplinks' network are gone. */
  reachByLanAlone(...names: readonly string[]): void {
    for (const name of names) this.board(name).others.length = 0;
  }

  lanOf(name: string): string {
    return this.board(name).address;
  }

  uplinkOf(name: string): string {
    return this.board(name).address.replace("192.168.7.", "10.7.0.");
  }

  on(...names: readonly string[]): void {
    for (const name of names) {
      const board = this.board(name);
      const { address, others, key } = board;
      const kubelet = new KubeletHealth(this.#ambient, {
        ask: () => Promise.resolve("ok"),
        file: noFile,
        bootId: boot,
      });
      const deps = { lan: this.lan.of(address, ...others), port, site, board: name, bootId: boot, key, kubelet };
      board.power = new AbortController();
      this.#running.push(new Answerer(this.#ambient, deps).run(board.power.signal));
    }
  }

  /** The leader and all boards get addresses of another network on the LAN; only these boards announce theirs. */
  renumber(...announcing: readonly string[]): void {
    this.leadersAddresses = this.leadersAddresses.map(inNewNetwork);
    for (const board of this.#boards.values()) {
      this.off(board.name);
      const old = board.address;
      board.address = inNewNetwork(old);
      board.announcedAs = announcing.includes(board.name) ? undefined : old;
      this.on(board.name);
    }
  }

  /** It gets another address on the LAN, which it cannot announce. */
  move(name: string): void {
    const board = this.board(name);
    board.announcedAs ??= board.address;
    board.address = board.address.replace(/\d+$/, (last) => String(Number(last) + 120));
    this.on(name);
  }

  off(...names: readonly string[]): void {
    for (const name of names) this.board(name).power?.abort();
  }

  announced(name: string): Announcement | undefined {
    const board = this.#boards.get(name);
    if (board === undefined) return undefined;
    const addresses = this.closed.has(name) ? [] : [board.announcedAs ?? board.address, ...board.others];
    return { key: board.key.publicText, port, addresses };
  }

  async lead(): Promise<void> {
    const targets = {
      inDoubt: () => this.doubted,
      others: () => this.#boards.keys(),
      announced: (name: string) => this.announced(name),
      reportedBoot: () => undefined,
    };
    this.#running.push(this.questioner.run(targets, this.#ending.signal));
    await this.clock.advance("20s");
  }

  follow(leader: () => string | undefined, read: (name: string) => Announcement | undefined): void {
    const calibrating = new LeaderCalibration(this.#ambient, {
      lan: this.lan.of("192.168.7.1"),
      paths: () => networkOf,
      everyoneOn: () => [],
      site,
      calibration: this.calibration,
      leader,
      read: (name) => Promise.resolve(read(name)),
    });
    this.#running.push(calibrating.run(this.#ending.signal));
  }

  /** What the silence of a board means; undefined if the LAN says nothing about it. */
  silenceOf(name: string): string | undefined {
    const unanswered = this.questioner.wordOf(name)?.unanswered;
    return unanswered && lanSilenceOf(askedFacts(unanswered));
  }

  covers(name: string): boolean {
    return this.calibration.covers(name, this.board(name).key.publicText, this.clock.now());
  }

  /** The questions to a board, or to all. */
  asked(name?: string): number {
    const to = name === undefined ? "" : this.board(name).address;
    return this.lan.sent.filter((one) => one.from.startsWith("192.168.7.1:") && one.to.startsWith(to)).length;
  }

  async end(): Promise<void> {
    this.#ending.abort();
    for (const { power } of this.#boards.values()) power?.abort();
    await Promise.all(this.#running);
  }

  board(name: string): Board {
    const board = this.#boards.get(name);
    if (board === undefined) throw new Error(`no board ${name}`);
    return board;
  }
}

describe("a new leader", () => {
  test("asks each board once, then once an hour, and has no port open in between", async () => {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.lead();
    expect([story.covers("pi-2"), story.covers("pi-3"), story.asked()]).toEqual([true, true, 2]);
    expect(story.lan.open.filter((at) => at.startsWith("192.168.7.1:"))).toEqual([]);
    await story.clock.advance("59m");
    expect(story.asked()).toBe(2);
    await story.clock.advance("24h");
    expect([story.asked("pi-2"), story.asked("pi-3")]).toEqual([25, 25]);
  });

  test("whose port cannot be opened says so all the time, and asks each board as soon as it can", async () => {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.clock.settle();
    story.lan.refusal = Object.assign(new Error("socket EACCES"), { code: "EACCES" });
    await story.lead();
    for (let minute = 0; minute < 40; minute++) {
      await story.clock.advance("1m");
      expect(story.questioner.problem).toBe("EACCES");
    }
    story.lan.refusal = undefined;
    await story.clock.advance("10s");
    expect([story.covers("pi-2"), story.covers("pi-3"), story.questioner.problem]).toEqual([true, true, undefined]);
  });

  test("whose questions are refused says so all the time, and asks again within a minute", async () => {
    const story = new Story("pi-2");
    story.on("pi-2");
    story.lan.barred.set("192.168.7.2", Object.assign(new Error("send EPERM 192.168.7.2:10270"), { code: "EPERM" }));
    await story.lead();
    const problems = new Set<string | undefined>();
    for (let second = 0; second < 3600; second++) {
      await story.clock.advance("1s");
      problems.add(story.questioner.problem);
    }
    expect([...problems]).toEqual(["EPERM"]);
    story.lan.barred.clear();
    await story.clock.advance("65s");
    expect([story.covers("pi-2"), story.questioner.problem]).toEqual([true, undefined]);
  });

  test("asks nobody before it knows which boards are silent", async () => {
    const story = new Story("pi-2");
    story.on("pi-2");
    story.doubted = undefined;
    await story.lead();
    expect(story.asked()).toBe(0);
  });

  test("soon hears a board whose agent starts a minute later", async () => {
    const story = new Story("pi-2");
    await story.lead();
    await story.clock.advance("40s");
    expect(story.covers("pi-2")).toBe(false);
    story.on("pi-2");
    await story.clock.advance("40s");
    expect(story.covers("pi-2")).toBe(true);
  });
});

describe("a board that stops answering", () => {
  /** Of the boards, the first one is silent. */
  async function silent(...names: readonly string[]): Promise<Story> {
    const story = new Story(...names);
    story.on(...names);
    await story.lead();
    const [first = ""] = names;
    story.off(first);
    story.doubted = [first];
    return story;
  }

  test("is gone after half a minute in which another board answers", async () => {
    const story = await silent("pi-2", "pi-3");
    await story.clock.advance("34s");
    expect(story.silenceOf("pi-2")).toBe("open");
    await story.clock.advance("6s");
    expect(story.silenceOf("pi-2")).toBe("gone");
    // If it had answered before in this silence, more questions would have to count.
    await story.clock.advance("85s");
    const controls = story.asked("pi-3");
    expect(story.questioner.wordOf("pi-2")?.unanswered?.counted.questions).toBe(24);
    await story.clock.advance("10m");
    expect(story.asked("pi-3")).toBe(controls);
  });

  test("is heard again with its first answer", async () => {
    const story = await silent("pi-2", "pi-3");
    await story.clock.advance("1m");
    story.on("pi-2");
    await story.clock.advance("10s");
    expect(story.silenceOf("pi-2")).toBe("open");
    expect(story.questioner.wordOf("pi-2")?.word?.kubelet).toEqual({ is: "ok" });
  });

  test("may be hidden by the leader's own port, if the other board does not answer either", async () => {
    const story = await silent("pi-2", "pi-3", "pi-4");
    story.lan.isUp = false;
    story.gatewayOn = undefined;
    await story.clock.advance("20s");
    expect(story.silenceOf("pi-2")).toBe("open");
    await story.clock.advance("5m");
    expect(story.silenceOf("pi-2")).toBe("isolated");
    story.lan.isUp = true;
    await story.clock.advance("10s");
    expect(story.silenceOf("pi-2")).toBe("open");
    await story.clock.advance("40s");
    expect(story.silenceOf("pi-2")).toBe("gone");
  });

  test("is not gone because the gateway answers, while boards that the API hears do not", async () => {
    const story = await silent("pi-2", "pi-3", "pi-4");
    story.lan.isUp = false;
    story.gatewayOn = "192.168.7";
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("on a site of two boards is gone only if the gateway answers", async () => {
    const story = await silent("pi-2");
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
    story.gatewayOn = "192.168.7";
    await story.clock.advance("45s");
    expect(story.silenceOf("pi-2")).toBe("gone");
    await story.clock.advance("85s");
    const questions = story.gatewayQuestions;
    await story.clock.advance("10m");
    expect(story.gatewayQuestions).toBe(questions);
  });

  test("together with all others is gone only if the gateway answers", async () => {
    const story = await silent("pi-2", "pi-3", "pi-4");
    story.off("pi-3", "pi-4");
    story.doubted = ["pi-2", "pi-3", "pi-4"];
    await story.clock.advance("5m");
    expect(story.silenceOf("pi-3")).toBe("isolated");
    story.gatewayOn = "192.168.7";
    await story.clock.advance("45s");
    expect(["pi-2", "pi-3", "pi-4"].map((name) => story.silenceOf(name))).toEqual(["gone", "gone", "gone"]);
  });

  test("is not gone while another machine answers each question first, with wrong signatures", async () => {
    const story = await silent("pi-2", "pi-3");
    const asked = new Set<Uint8Array>();
    for (let round = 0; round < 20; round++) {
      await story.clock.advance("5s");
      for (const { datagram, from, to } of [...story.lan.sent]) {
        if (asked.has(datagram) || !to.startsWith(story.lanOf("pi-2"))) continue;
        asked.add(datagram);
        const nonce = decodeQuestion(datagram)?.nonce ?? new Uint8Array(16);
        const forged = encodeAnswer({ nonce, boot, kubelet: { is: "ok" }, signature: Buffer.alloc(64) });
        for (let times = 0; times < 16; times++) story.lan.write(forged, to, from);
      }
    }
    expect(asked.size).toBeGreaterThan(15);
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("is not silent as long as it cannot be asked", async () => {
    const story = await silent("pi-2", "pi-3");
    story.lan.barred.set("192.168.7.2", Object.assign(new Error("EPERM"), { code: "EPERM" }));
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("does not count the time in which it is unknown who is silent", async () => {
    const story = await silent("pi-2", "pi-3");
    await story.clock.advance("20s");
    story.doubted = undefined;
    await story.clock.advance("10m");
    story.doubted = ["pi-2"];
    expect(story.silenceOf("pi-2")).toBe("open");
    await story.clock.advance("11s");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("is not silent if it has announced that it cannot answer, and is no control either", async () => {
    const story = await silent("pi-2", "pi-3");
    story.closed.add("pi-2");
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
    story.closed.delete("pi-2");
    story.closed.add("pi-3");
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("is not silent if another board announces its address as well", async () => {
    const story = await silent("pi-2", "pi-3", "pi-4");
    story.announceToo("pi-4", story.lanOf("pi-2"));
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("is gone although a virtual address has moved from it to another board", async () => {
    const story = await silent("pi-2", "pi-3", "pi-4");
    for (const name of ["pi-2", "pi-4"]) story.announceToo(name, "192.168.7.100");
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("gone");
  });

  /** The LAN gets other addresses, and the first board, which is silent, cannot announce its own. */
  async function renumbered(): Promise<Story> {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.lead();
    story.doubted = ["pi-2"];
    story.renumber("pi-3");
    return story;
  }

  test("that cannot announce its new address after the LAN was renumbered is asked by broadcast, also by a new leader", async () => {
    const story = await renumbered();
    await story.clock.advance("10m");
    expect([story.silenceOf("pi-2"), story.questioner.wordOf("pi-2")?.word?.kubelet.is]).toEqual(["open", "ok"]);

    const next = new Story("pi-2", "pi-3");
    next.on("pi-2", "pi-3");
    next.renumber("pi-3");
    next.doubted = ["pi-2"];
    await next.lead();
    await next.clock.advance("1m");
    expect(next.questioner.wordOf("pi-2")?.word?.kubelet.is).toBe("ok");
  });

  test("is not silent either if its old address is within the leader's new, wider network", async () => {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.lead();
    story.doubted = ["pi-2"];
    story.renumber("pi-3");
    story.widen();
    story.off("pi-2");
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("is not silent after that if it does not answer a broadcast: it may have no address there", async () => {
    const story = await renumbered();
    story.off("pi-2");
    const broadcasts = (): number => story.lan.sent.filter(({ to }) => to.startsWith("192.168.8.255:")).length;
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
    // As nothing can be concluded, questions to everyone become rare.
    const before = broadcasts();
    await story.clock.advance("10m");
    expect([before, broadcasts() - before]).toEqual([64, 10]);
  });

  test("of which there are a hundred is not silent before a question was broadcast for it, and heard if it then answers", async () => {
    const [moved, dead] = ["a", "b"].map((kind) => Array.from({ length: 50 }, (_, index) => `${kind}-${index}`));
    const silent = [...(moved ?? []), ...(dead ?? [])];
    const story = new Story("pi-1", "pi-2", ...silent);
    story.on("pi-1", "pi-2", ...silent);
    await story.lead();
    story.off(...silent);
    for (const name of moved ?? []) story.move(name);
    story.doubted = silent;
    for (let seconds = 0; seconds < 600; seconds += 5) {
      await story.clock.advance("5s");
      for (const name of moved ?? []) expect(story.silenceOf(name)).not.toBe("gone");
    }
    expect((dead ?? []).map((name) => story.silenceOf(name))).toEqual(dead?.map(() => "gone"));
    expect((moved ?? []).map((name) => story.questioner.wordOf(name)?.word?.kubelet.is)).toEqual(
      moved?.map(() => "ok"),
    );
  });

  test("but was never heard is unheard", async () => {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-3");
    await story.lead();
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("unheard");
  });

  test("means nothing where no board has ever answered", async () => {
    const story = new Story("pi-2", "pi-3");
    story.gatewayOn = "192.168.7";
    await story.lead();
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe(undefined);
  });
});

describe("boards that reach each other by the LAN and by their uplinks", () => {
  const leader = { lan: "192.168.7.1", uplink: "10.7.0.1" };

  async function reached(...names: readonly string[]): Promise<Story> {
    const story = new Story(...names);
    story.reachByUplink(...names);
    story.on(...names);
    await story.lead();
    return story;
  }

  test("a board that loses its uplink while the leader's LAN is unplugged is not gone: controls answer by the uplink only", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    story.lan.unplugged.add(leader.lan);
    await story.clock.advance("4s");
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
    story.lan.unplugged.delete(leader.lan);
    await story.clock.advance("10s");
    expect(story.questioner.wordOf("pi-2")?.word?.kubelet).toEqual({ is: "ok" });
  });

  test("nor is it while another machine copies the answers to the uplinks' network, with the senders' addresses on the LAN", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    story.lan.unplugged.add(leader.lan);
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    let [seen, copied] = [story.lan.sent.length, 0];
    for (let round = 0; round < 120; round++) {
      await story.clock.advance("5s");
      const answers = story.lan.sent.slice(seen).filter(({ to }) => to.startsWith(`${leader.uplink}:`));
      for (const { datagram, from, to } of answers) {
        story.lan.write(datagram, from.replace("10.7.0.", "192.168.7."), to);
        copied++;
      }
      seen = story.lan.sent.length;
    }
    expect(copied).toBeGreaterThan(100);
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("a leader that heard others by their uplinks only hears one that loses it once the LAN is back, with other addresses", async () => {
    const story = new Story("pi-2", "pi-3");
    story.reachByUplink("pi-2", "pi-3");
    for (const address of [leader.lan, story.lanOf("pi-2"), story.lanOf("pi-3")]) story.lan.unplugged.add(address);
    story.on("pi-2", "pi-3");
    await story.lead();
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    story.renumber("pi-3");
    await story.clock.advance("10m");
    expect([story.silenceOf("pi-2"), story.questioner.wordOf("pi-2")?.word?.kubelet.is]).toEqual(["open", "ok"]);
  });

  test("a machine on the LAN that answers each question there first does not crowd out the answers by the uplink", async () => {
    const story = new Story("pi-2", "pi-3");
    story.reachByUplink("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.lead();
    const stranger = "192.168.7.66";
    const forged = { boot, kubelet: { is: "ok" }, signature: Buffer.alloc(64) } as const;
    const forger = await story.lan.of(stranger).open(port, (question, reply) => {
      for (let times = 0; times < 20; times++) reply(encodeAnswer({ nonce: question.slice(4, 20), ...forged }));
    });
    story.board("pi-2").announcedAs = stranger;
    story.doubted = ["pi-2"];
    await story.clock.advance("1m");
    expect(story.questioner.wordOf("pi-2")?.word?.kubelet.is).toBe("ok");
    forger.close();
  });

  test("the leader is isolated on a LAN where nobody answers it, as long as it cannot hear a silent board by it", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    const isolated = () => story.questioner.isolation?.path;
    story.lan.unplugged.add(leader.lan);
    await story.clock.advance("10m");
    // As long as all heartbeats arrive, nobody is asked.
    expect(isolated()).toBe(undefined);
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    await story.clock.advance("30s");
    expect(isolated()).toBe(undefined);
    const begun = story.clock.now();
    await story.clock.advance("10s");
    expect(isolated()).toBe("192.168.7");
    expect(elapsed(story.questioner.isolation?.since ?? begun, begun)).toBeGreaterThan(20_000);
    story.lan.unplugged.delete(leader.lan);
    await story.clock.advance("10s");
    expect(isolated()).toBe(undefined);
  });

  test("the leader is isolated, too, if it lost its address with the cable, but not if the boards moved to another network", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    for (const name of ["pi-2", "pi-3", "pi-4"]) story.lan.unplugged.add(story.lanOf(name));
    story.leadersAddresses = [leader.uplink];
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    await story.clock.advance("1m");
    expect([story.questioner.isolation?.path, story.silenceOf("pi-2")]).toEqual(["192.168.7", "open"]);
    const moved = new Story("pi-2", "pi-3", "pi-4");
    moved.on("pi-2", "pi-3", "pi-4");
    await moved.lead();
    moved.rename("bridge");
    await moved.dies("pi-2", "10m");
    expect([moved.questioner.isolation, moved.calibration.pathsOf("pi-3", moved.clock.now())]).toEqual([
      undefined,
      ["192.168.7", "bridge"],
    ]);
  });

  test("the leader is not isolated where others or the gateway answer, or where it has heard only the silent board", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    await story.dies("pi-2", "2m");
    expect(story.questioner.isolation).toBe(undefined);
    const withGateway = await reached("pi-2", "pi-3", "pi-4");
    withGateway.gatewayOn = "192.168.7";
    withGateway.off("pi-3", "pi-4");
    await withGateway.dies("pi-2", "2m");
    expect(withGateway.questioner.isolation?.path).toBe("10.7.0");
    const withOne = await reached("pi-2");
    await withOne.dies("pi-2", "2m");
    expect(withOne.questioner.isolation).toBe(undefined);
  });

  test("one that answers by the uplink whatever it is asked is not silent, and is no control on the LAN", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    for (const name of ["pi-3", "pi-4"]) story.off(name);
    const answering = async (name: string): Promise<void> => {
      const { key } = story.board(name);
      for (const address of [story.lanOf(name), story.uplinkOf(name)])
        await story.lan.of(address).open(port, (datagram, _reply, sender) => {
          const question = decodeQuestion(datagram);
          if (question === undefined) return;
          const statement = { boot, kubelet: { is: "ok" } } as const;
          const signature = key.sign(signedBytes(question, statement));
          const to = story.lan.sent.findLast((one) => one.datagram === datagram)?.from ?? sender;
          story.lan.write(
            encodeAnswer({ nonce: question.nonce, ...statement, signature }),
            `${story.uplinkOf(name)}:${port}`,
            to,
          );
        });
    };
    for (const name of ["pi-3", "pi-4"]) await answering(name);
    story.doubted = ["pi-4"];
    await story.clock.advance("10s");
    expect(story.questioner.wordOf("pi-4")?.word?.kubelet).toEqual({ is: "ok" });
    await story.dies("pi-2", "10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("one that loses both is gone, as both bring answers of others", async () => {
    const story = await reached("pi-2", "pi-3", "pi-4");
    await story.dies("pi-2", "40s");
    expect(story.silenceOf("pi-2")).toBe("gone");
  });

  test("the silence of one that gave up its uplink hours ago needs answers by the LAN only", async () => {
    const story = await reached("pi-2", "pi-3");
    story.reachByLanAlone("pi-2", "pi-3");
    await story.clock.advance("5h");
    await story.dies("pi-2", "40s");
    expect(story.silenceOf("pi-2")).toBe("gone");
  });

  test.each([
    ["lost its LAN before it heard others by it", ["192.168.7.1", "10.7.0.1"]],
    ["has had no address on the LAN since its port failed", ["10.7.0.1"]],
  ])("a board that loses its uplink is not gone for a leader that %s", async (_, own) => {
    const names = ["pi-2", "pi-3", "pi-4"];
    const story = new Story(...names);
    story.reachByUplink(...names);
    story.leadersAddresses = own;
    for (const unheard of [leader.lan, ...names.map((name) => story.lanOf(name))]) story.lan.unplugged.add(unheard);
    story.on(...names);
    await story.lead();
    expect(story.covers("pi-2")).toBe(true);
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("nor is it on a site of two boards, whose gateway answers on the uplinks' network only", async () => {
    const story = new Story("pi-2");
    story.reachByUplink("pi-2");
    story.gatewayOn = "10.7.0";
    story.lan.unplugged.add(leader.lan);
    story.on("pi-2");
    await story.lead();
    story.lan.unplugged.add(story.uplinkOf("pi-2"));
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });

  test("of many boards, controls are taken that bring answers by each path of the silent one", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `pi-${index + 2}`);
    const story = new Story(...names);
    // Two of the others are also reached by their uplinks.
    story.reachByUplink("pi-2", "pi-6", "pi-9");
    story.on(...names);
    await story.lead();
    story.off("pi-2");
    story.doubted = ["pi-2"];
    const before = names.map((name) => story.asked(name));
    await story.clock.advance("40s");
    expect(story.silenceOf("pi-2")).toBe("gone");
    const controls = names.slice(1).reduce((sum, name, index) => sum + story.asked(name) - (before[index + 1] ?? 0), 0);
    // Two for each path in each of eight rounds; those with an uplink are controls of the LAN as well.
    expect(controls).toBeGreaterThanOrEqual(16);
    expect(controls).toBeLessThanOrEqual(32);
  });

  test("one that announces an address of the leader, as of a container bridge, is gone without answers from there", async () => {
    const story = new Story("pi-2", "pi-3");
    story.leadersAddresses = ["192.168.7.1", "10.88.0.1"];
    story.on("pi-2", "pi-3");
    for (const name of ["pi-2", "pi-3"]) story.announceToo(name, "10.88.0.1");
    await story.lead();
    await story.dies("pi-2", "40s");
    expect(story.silenceOf("pi-2")).toBe("gone");
  });

  test("a leader whose network changes finds its new paths in the next round", async () => {
    const story = new Story("pi-2", "pi-3");
    story.on("pi-2", "pi-3");
    await story.lead();
    story.leadersAddresses = ["10.7.0.1"];
    await story.clock.advance("1h");
    expect([...story.calibration.pathsOf("pi-3", story.clock.now())]).toEqual(["192.168.7", "192.168.7.0/24"]);
  });

  test("the only one of them with a second path is not gone: no other board shows that path, nor does the gateway of the LAN", async () => {
    const story = new Story("pi-2", "pi-3");
    story.reachByUplink("pi-2");
    story.gatewayOn = "192.168.7";
    story.on("pi-2", "pi-3");
    await story.lead();
    story.off("pi-2");
    story.doubted = ["pi-2"];
    await story.clock.advance("10m");
    expect(story.silenceOf("pi-2")).toBe("open");
  });
});

describe("a board that follows", () => {
  test("asks the leader once an hour, and reads its Node once", async () => {
    const story = new Story("pi-2");
    story.on("pi-2");
    let reads = 0;
    story.follow(
      () => "pi-2",
      (name) => {
        reads++;
        return story.announced(name);
      },
    );
    await story.clock.advance("1m");
    expect(story.covers("pi-2")).toBe(true);
    await story.clock.advance("24h");
    expect([story.asked(), reads]).toEqual([24, 1]);
  });

  test("asks nobody while nobody leads, and reads the Node again if the leader does not answer", async () => {
    const story = new Story("pi-2");
    let leader: string | undefined;
    let reads = 0;
    story.follow(
      () => leader,
      (name) => {
        reads++;
        return story.announced(name);
      },
    );
    await story.clock.advance("2h");
    expect(story.asked()).toBe(0);
    leader = "pi-2";
    await story.clock.advance("2m");
    expect(story.covers("pi-2")).toBe(false);
    story.on("pi-2");
    await story.clock.advance("5m");
    expect(story.covers("pi-2")).toBe(true);
    expect(reads).toBeGreaterThan(1);
  });
});
