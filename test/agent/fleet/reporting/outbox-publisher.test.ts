import { afterEach, describe, expect, test } from "vitest";
import { LinkError, PublishError } from "../../../../agent/fleet/mqtt/link.ts";
import { LinkProblems } from "../../../../agent/fleet/mqtt/link-problems.ts";
import { FleetEvents } from "../../../../agent/fleet/reporting/events.ts";
import type { FleetEventSeverity } from "../../../../agent/fleet/reporting/fleet-events.ts";
import { OutboxPublisher } from "../../../../agent/fleet/reporting/outbox-publisher.ts";
import { States } from "../../../../agent/fleet/reporting/states.ts";
import { Database } from "../../../../storage/database/database.ts";
import { Outbox } from "../../../../storage/outbox.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { pragmas } from "../../../storage/object-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeLink } from "../../../support/links/fake-link.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const identity = { fleet: "acme", site: "plant7", board: "pi-1" };
const bootId = "boot-1";

/** A board with its outbox, and broker links as they come and go. */
class Desk {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly outbox: Outbox;
  readonly states = new States();
  readonly linkProblems = new LinkProblems();
  readonly events: FleetEvents;
  readonly publisher: OutboxPublisher;
  readonly #database: Database;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(rows = 2000) {
    const database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
    this.#database = database;
    const bound = { rows, bytes: 4 * 2 ** 20 };
    this.outbox = new Outbox(database, { event: bound, response: bound });
    const ambient = { clock: this.clock, random: new SeededRandom(1), log: this.log };
    const { outbox, states, linkProblems } = this;
    const added = (): void => this.publisher.ring();
    this.events = new FleetEvents(ambient, { identity, outbox, bootId, clockState: () => "synced", added });
    const { reportDropped } = this.events;
    this.publisher = new OutboxPublisher(ambient, {
      identity,
      outbox,
      states,
      bootId,
      events: this.events,
      linkProblems,
      reportDropped,
    });
  }

  connect(link: FakeLink): void {
    const stop = new AbortController();
    this.#stop = stop;
    void link.ended.then(() => stop.abort());
    this.#running = this.publisher.run(link, stop.signal);
  }

  async disconnect(link: FakeLink, end = new LinkError("lost", "the broker went away")): Promise<void> {
    link.abandon(end);
    this.#stop.abort();
    await this.clock.settle();
    await this.#running;
  }

  fillDisk(isFull: boolean): void {
    this.#database.prepare(`PRAGMA query_only = ${isFull ? "ON" : "OFF"}`).run();
  }

  happen(type: string, severity: FleetEventSeverity = "info"): void {
    this.events.note({ type, severity, detail: {} });
  }

  respond(payload: string, topic = "sw1/acme/plant7/pi-1/res/ping/1", ttl = 60_000): void {
    const letter = { topic, payload, retain: true, rank: 1, ttl };
    this.outbox.respond(
      { ...letter, properties: '{"code":"200"}' },
      { boot: bootId, mono: this.clock.now().mono },
      () => {},
    );
    this.publisher.ring();
  }
}

const desks: Desk[] = [];
afterEach(() => void desks.splice(0));

const seqs = (link: FakeLink): readonly number[] =>
  link.sent
    .filter(({ topic }) => topic.includes("/event/"))
    .map(({ payload }) => (JSON.parse(payload) as { seq: number }).seq);

test("states are sent first, then answers, then events in their order", async () => {
  const desk = new Desk();
  desk.happen("one");
  desk.happen("two");
  desk.respond("answer");
  desk.states.put({ topic: "sw1/acme/plant7/pi-1/status", payload: "{}", retain: true });
  const link = new FakeLink();
  desk.connect(link);
  await desk.clock.advance("15s");
  expect(link.topics.map((topic) => topic.split("/").slice(4).join("/"))).toEqual([
    "status",
    "res/ping/1",
    "event/one",
    "event/two",
  ]);
  expect(desk.outbox.usage("event").rows + desk.outbox.usage("response").rows + desk.states.size).toBe(0);
  await desk.disconnect(link);
});

test("after a day without the broker, ten messages a second are sent, in order, each once, with a note of those that are missing", async () => {
  const desk = new Desk(500);
  for (let n = 0; n < 2000; n++) {
    desk.happen("noise", n % 4 === 0 ? "warning" : "debug");
    if (n % 500 === 499) desk.happen("trouble", "critical");
  }
  const link = new FakeLink();
  desk.connect(link);
  await desk.clock.advance("10s");
  let before = link.sent.length;
  for (let second = 0; second < 30; second++) {
    await desk.clock.advance("1s");
    expect(link.sent.length - before).toBeLessThanOrEqual(10);
    before = link.sent.length;
  }
  await desk.clock.advance("60s");
  const delivered = seqs(link);
  expect(delivered).toEqual([...delivered].sort((a, b) => a - b));
  expect(new Set(delivered).size).toBe(delivered.length);
  const documents = link.payloads.map(
    (payload) => JSON.parse(payload) as { type: string; severity: string; detail: unknown },
  );
  // Warnings outlived the noise, and the four critical ones everything.
  expect(documents.filter(({ type }) => type === "trouble")).toHaveLength(4);
  expect(documents.filter(({ severity }) => severity === "debug")).toHaveLength(0);
  const dropped = documents
    .filter(({ type }) => type === "outbox.dropped")
    .map(({ detail }) => detail as { count: number });
  expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(
    2004 - documents.filter(({ type }) => type !== "outbox.dropped").length,
  );
  expect(desk.outbox.usage("event").rows).toBe(0);
  await desk.disconnect(link);
});

test("at most four messages wait for their acknowledgement, and a critical event waits alone", async () => {
  const desk = new Desk();
  const link = new FakeLink();
  link.acknowledges = false;
  desk.connect(link);
  await desk.clock.advance("1s");
  for (let n = 0; n < 6; n++) desk.happen("a");
  desk.happen("b", "critical");
  desk.happen("c");
  await desk.clock.advance("5s");
  expect(link.sent).toHaveLength(4);
  for (const acknowledge of link.waiting.splice(0, 3)) acknowledge();
  await desk.clock.advance("5s");
  // Two more, and not the critical one while others are under way.
  expect(seqs(link)).toEqual([1, 2, 3, 4, 5, 6]);
  for (const acknowledge of link.waiting.splice(0)) acknowledge();
  await desk.clock.advance("5s");
  expect(seqs(link)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  for (const acknowledge of link.waiting.splice(0)) acknowledge();
  await desk.clock.advance("5s");
  expect(seqs(link)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  await desk.disconnect(link);
});

test("messages not acknowledged when the link was lost are sent again with their original numbers", async () => {
  const desk = new Desk();
  const first = new FakeLink();
  first.acknowledges = false;
  desk.connect(first);
  await desk.clock.advance("1s");
  desk.happen("a");
  desk.happen("b");
  await desk.clock.advance("2s");
  first.waiting.shift()?.();
  await desk.clock.advance("1s");
  await desk.disconnect(first);
  const second = new FakeLink();
  desk.connect(second);
  await desk.clock.advance("11s");
  expect([seqs(first), seqs(second)]).toEqual([[1, 2], [2]]);
  await desk.disconnect(second);
});

describe("a broker that refuses", () => {
  test("a message gets it again less and less often, and is reported once; the row is kept", async () => {
    const desk = new Desk();
    const link = new FakeLink();
    let asked = 0;
    link.refuse = ({ topic }) => {
      if (!topic.endsWith("/event/secret")) return undefined;
      asked++;
      return new PublishError("refused", 0x87, "not authorized");
    };
    desk.connect(link);
    await desk.clock.advance("1s");
    desk.happen("secret");
    desk.respond("answer");
    await desk.clock.advance("29s");
    expect(asked).toBe(1);
    // Answers are not held up by it.
    expect(link.topics.some((topic) => topic.includes("/res/"))).toBe(true);
    await desk.clock.advance("1h");
    expect(asked).toBeLessThan(10);
    expect(desk.outbox.usage("event").rows).toBe(1);
    link.refuse = () => undefined;
    await desk.clock.advance("2h");
    expect(link.topics.filter((topic) => topic.includes("/event/")).map((topic) => topic.split("/").at(-1))).toEqual([
      "mqtt.denied",
      "secret",
    ]);
    await desk.disconnect(link);
  });

  test("one event delays only the events of its topic, in order, and is shown in the status until that event is delivered", async () => {
    const desk = new Desk();
    const link = new FakeLink();
    const problems = () =>
      desk.linkProblems.list().map(({ type, message }) => [type, message.includes("event/secret")]);
    link.refuse = ({ topic }) =>
      topic.endsWith("/event/secret") ? new PublishError("refused", 0x87, "no") : undefined;
    desk.connect(link);
    await desk.clock.advance("1s");
    for (const type of ["secret", "config.applied", "secret"]) desk.happen(type);
    desk.happen("leader.lost", "critical");
    await desk.clock.advance("5s");
    expect(seqs(link).slice(0, 2)).toEqual([2, 4]);
    expect(problems()).toEqual([["BrokerRefuses", true]]);
    link.refuse = () => undefined;
    await desk.clock.advance("1h");
    expect(seqs(link).filter((seq) => seq === 1 || seq === 3)).toEqual([1, 3]);
    expect(problems()).toEqual([]);
    await desk.disconnect(link);
  });

  test("never receives messages of the board's previous identity, which are dropped at the start, and counted", async () => {
    const desk = new Desk();
    for (let n = 0; n < 250; n++) {
      const topic = `sw1/acme/plant7/pi-0/event/leader.lost`;
      const letter = { topic, payload: "{}", retain: false, properties: "{}", rank: 3, ttl: 604_800_000 };
      desk.outbox.event(() => letter, { boot: bootId, mono: 0 });
    }
    desk.respond("old", "sw1/acme/plant7/pi-0/res/ping/1");
    desk.respond("reply", "sw1/acme/_reply/ops/1");
    desk.happen("config.applied", "critical");
    const link = new FakeLink();
    desk.connect(link);
    await desk.clock.advance("11s");
    expect(link.sent.map(({ topic }) => topic)).toEqual([
      "sw1/acme/_reply/ops/1",
      "sw1/acme/plant7/pi-1/event/config.applied",
      "sw1/acme/plant7/pi-1/event/outbox.dropped",
    ]);
    expect(JSON.parse(link.payloads.at(-1) ?? "")).toMatchObject({ detail: { count: 250, from: 1, to: 250 } });
    expect([desk.outbox.lost, desk.log.said("warn").length]).toEqual([251, 1]);
    await desk.disconnect(link);
  });

  test("a state does not delay other messages", async () => {
    const desk = new Desk();
    const link = new FakeLink();
    link.refuse = ({ topic }) =>
      topic.includes("_site") ? new PublishError("refused", 0x87, "not authorized") : undefined;
    desk.states.put({ topic: "sw1/acme/plant7/_site/status", payload: "{}", retain: true });
    desk.states.put({ topic: "sw1/acme/plant7/pi-1/status", payload: "{}", retain: true });
    desk.connect(link);
    await desk.clock.advance("20s");
    expect(link.topics.map((topic) => topic.split("/").slice(3).join("/"))).toEqual([
      "pi-1/status",
      "pi-1/event/mqtt.denied",
    ]);
    await desk.disconnect(link);
  });
});

test("answers to one topic does not delay other answers, regardless of their number, and is reported once", async () => {
  const desk = new Desk();
  const link = new FakeLink();
  let refused = 0;
  link.refuse = ({ topic }) => {
    if (!topic.includes("_reply")) return undefined;
    refused++;
    return new PublishError("refused", 0x87, "not authorized");
  };
  for (let n = 0; n < 200; n++) desk.respond(`${n}`, `sw1/acme/_reply/ops/${n}`, 3_600_000);
  desk.connect(link);
  await desk.clock.advance("25s");
  expect(refused).toBe(200);
  desk.respond("behind them");
  await desk.clock.advance("1s");
  expect(link.payloads).toContain("behind them");
  await desk.clock.advance("20m");
  // Each is tried more and more rarely, and kept until its time is over.
  expect(refused).toBeLessThan(200 * 8);
  expect(desk.outbox.usage("response").rows).toBe(200);
  expect(desk.log.said("warn")).toHaveLength(1);
  expect(link.topics.filter((topic) => topic.endsWith("/event/mqtt.denied"))).toHaveLength(1);
  link.refuse = () => undefined;
  await desk.clock.advance("30m");
  expect(desk.outbox.usage("response").rows).toBe(0);
  const delivered = link.payloads.filter((payload) => /^\d+$/.test(payload));
  expect(new Set(delivered).size).toBe(200);
  await desk.disconnect(link);
});

test("a document that is always larger than the broker's limit is one problem, reported once, which ends when it fits", async () => {
  const desk = new Desk();
  const link = new FakeLink();
  let limit = 300;
  link.refuse = ({ topic, payload }) =>
    payload.length > limit ? new PublishError("oversize", limit, `${topic}: too large`) : undefined;
  const put = (name: string, bytes: number): void => {
    desk.states.put({ topic: `sw1/acme/plant7/pi-1/${name}`, payload: "x".repeat(bytes), retain: true });
    desk.publisher.ring();
  };
  desk.connect(link);
  for (let minute = 0; minute < 60; minute++) {
    put("status", 2000 + minute);
    put("birth", 3000);
    await desk.clock.advance("1m");
  }
  expect(desk.log.said("warn")).toHaveLength(2);
  expect(link.topics.filter((topic) => topic.endsWith("outbox.oversize"))).toHaveLength(2);
  expect(desk.linkProblems.list()).toMatchObject([
    {
      type: "BrokerPacketLimit",
      severity: "warning",
      message: expect.stringMatching(/300 bytes.*pi-1\/status, .*pi-1\/birth/),
      hint: expect.stringContaining("max_packet_size"),
    },
  ]);
  limit = 2500;
  put("status", 2000);
  await desk.clock.advance("1m");
  expect(desk.linkProblems.list()).toMatchObject([{ message: expect.not.stringContaining("status") }]);
  limit = 65_536;
  put("birth", 3000);
  await desk.clock.advance("1m");
  expect(desk.linkProblems.list()).toEqual([]);
  await desk.disconnect(link);
});

test("a message larger than the broker's limit is set aside and reported without a loop, even if the report is too large as well", async () => {
  const desk = new Desk();
  const link = new FakeLink();
  let limit = 300;
  let asked = 0;
  link.refuse = ({ payload }) => {
    asked++;
    return payload.length > limit ? new PublishError("oversize", limit, "too large") : undefined;
  };
  desk.connect(link);
  await desk.clock.advance("1s");
  desk.events.note({ type: "large", severity: "info", detail: { text: "x".repeat(1000) } });
  await desk.clock.advance("1m");
  expect(link.topics.map((topic) => topic.split("/").at(-1))).toEqual(["outbox.oversize"]);
  expect(desk.outbox.usage("dead").rows).toBe(1);
  limit = 10;
  desk.happen("small");
  await desk.clock.advance("1h");
  expect(desk.outbox.usage("dead").rows).toBe(3);
  expect(desk.outbox.usage("event").rows).toBe(0);
  expect(asked).toBeLessThan(10);
  await desk.disconnect(link);
});

test("only the newest document of a topic is sent", async () => {
  const desk = new Desk();
  for (const payload of ["old", "new"])
    desk.states.put({ topic: "sw1/acme/plant7/pi-1/status", payload, retain: true });
  const link = new FakeLink();
  link.acknowledges = false;
  desk.connect(link);
  await desk.clock.advance("1s");
  desk.states.put({ topic: "sw1/acme/plant7/pi-1/status", payload: "newer", retain: true });
  link.waiting.shift()?.();
  link.acknowledges = true;
  await desk.clock.advance("1s");
  expect(link.payloads).toEqual(["new", "newer"]);
  expect(desk.states.size).toBe(0);
  await desk.disconnect(link);
});

test("a full disk does not stop reports: waiting messages are sent once, and deleted when there is room", async () => {
  const desk = new Desk();
  for (const type of ["one", "two", "three"]) desk.happen(type);
  desk.respond("answer");
  let isBorn = false;
  const delivered = (): void => {
    isBorn = true;
    throw new Error("the disk is full");
  };
  desk.states.put({ topic: "sw1/acme/plant7/pi-1/birth", payload: "{}", retain: true, delivered });
  desk.fillDisk(true);
  const link = new FakeLink();
  desk.connect(link);
  await desk.clock.advance("2m");
  expect([isBorn, seqs(link), link.sent.length]).toEqual([true, [1, 2, 3], 5]);
  await desk.disconnect(link);
  const next = new FakeLink();
  desk.connect(next);
  await desk.clock.advance("1m");
  expect(next.sent).toEqual([]);
  expect(desk.outbox.usage("event").rows).toBe(3);
  desk.fillDisk(false);
  desk.happen("four");
  await desk.clock.advance("1m");
  expect(seqs(next)).toEqual([4]);
  expect([desk.outbox.usage("event").rows, desk.outbox.usage("response").rows]).toEqual([0, 0]);
  await desk.disconnect(next);
});

describe("a broker that hangs up", () => {
  /** Connections until the outbox is empty of the named class, or `most`; returns how often the message was sent on each. */
  async function reconnecting(desk: Desk, hangsUpOn: (topic: string) => boolean, most: number): Promise<FakeLink[]> {
    const links: FakeLink[] = [];
    while (links.length < most) {
      const link = new FakeLink();
      links.push(link);
      link.hangUpOn = ({ topic }) => hangsUpOn(topic);
      desk.connect(link);
      await desk.clock.advance("30s");
      const isOver = link.isOver;
      await desk.disconnect(link);
      if (!isOver) break;
    }
    return links;
  }

  test("on a message does not get this message again after a few connections, gets all others, and is reported", async () => {
    const desk = new Desk();
    for (const type of ["one", "poison", "two"]) desk.happen(type);
    desk.respond(JSON.stringify("answer"));
    const links = await reconnecting(desk, (topic) => topic.endsWith("/poison"), 20);
    // Once among others, and three times alone.
    expect(links.length).toBeLessThanOrEqual(5);
    for (const link of links.slice(1, -1)) expect(link.unanswered).toBe(1);
    const last = new FakeLink();
    desk.connect(last);
    await desk.clock.advance("2m");
    const arrived = [...links, last].flatMap((link) => link.answered.map(({ topic }) => topic.split("/").at(-1)));
    expect(arrived.filter((type) => type !== "1")).toEqual(["one", "two", "outbox.hangup"]);
    expect(arrived).toContain("1");
    const payloads = [...links, last].flatMap((link) => link.payloads);
    const report = payloads.map((text) => JSON.parse(text)).find(({ type }) => type === "outbox.hangup");
    expect(report).toMatchObject({
      severity: "warning",
      detail: { topic: "sw1/acme/plant7/pi-1/event/poison", reason: "the broker hung up" },
    });
    expect([desk.outbox.usage("dead").rows, desk.outbox.lost]).toEqual([1, 1]);
    expect(desk.log.said("warn")).toEqual([
      "a message is set aside because the broker ends the connection whenever it is sent",
    ]);
    await desk.disconnect(last);
  });

  test("on a message is shown in the status until it acknowledges a message of the same kind", async () => {
    const desk = new Desk();
    desk.happen("poison");
    const links = await reconnecting(desk, (topic) => topic.includes("/event/"), 4);
    expect(links).toHaveLength(4);
    expect(desk.linkProblems.list()).toMatchObject([
      { type: "BrokerHangsUp", severity: "warning", message: expect.stringContaining("event/poison") },
    ]);
    const link = new FakeLink();
    desk.connect(link);
    desk.happen("fine");
    await desk.clock.advance("1m");
    expect(desk.linkProblems.list()).toEqual([]);
    await desk.disconnect(link);
  });

  test("is no longer shown after two hours without messages of this kind", async () => {
    const desk = new Desk();
    desk.respond('"poison"', "sw1/acme/plant7/pi-1/res/ping/1", 3_600_000);
    await reconnecting(desk, (topic) => topic.includes("/res/"), 4);
    expect(desk.linkProblems.list()).toHaveLength(1);
    const link = new FakeLink();
    desk.connect(link);
    await desk.clock.advance("2h");
    expect(desk.linkProblems.list()).toEqual([]);
    await desk.disconnect(link);
  });

  test("on every event costs one event at growing intervals, and is connected in between", async () => {
    const desk = new Desk();
    for (let n = 0; n < 50; n++) desk.happen("noise");
    let connections = 0;
    const begun = desk.clock.now().mono;
    while (desk.clock.now().mono - begun < 4 * 3_600_000) {
      const link = new FakeLink();
      connections++;
      link.hangUpOn = ({ topic }) => topic.includes("/event/");
      desk.connect(link);
      for (let second = 0; second < 7200 && !link.isOver; second++) await desk.clock.advance("1s");
      await desk.disconnect(link);
    }
    expect(connections).toBeLessThan(50);
    expect(desk.outbox.usage("event").rows).toBeGreaterThan(35);
  });

  test("on a document gets it again less and less often", async () => {
    const desk = new Desk();
    let connections = 0;
    const link = () => {
      const fresh = new FakeLink();
      connections++;
      fresh.hangUpOn = ({ topic }) => topic.endsWith("/birth");
      return fresh;
    };
    let current = link();
    desk.connect(current);
    for (let minute = 0; minute < 120; minute++) {
      for (const name of ["status", "birth"])
        desk.states.put({ topic: `sw1/acme/plant7/pi-1/${name}`, payload: `${minute}`, retain: true });
      desk.publisher.ring();
      await desk.clock.advance("1m");
      if (!current.isOver) continue;
      await desk.disconnect(current);
      current = link();
      desk.connect(current);
    }
    expect(connections).toBeLessThan(13);
    expect(current.topics.at(-1)).toContain("/status");
    expect(desk.linkProblems.list()).toMatchObject([
      { type: "BrokerHangsUp", message: expect.stringContaining("birth") },
    ]);
    await desk.disconnect(current);
  });
});

describe("a link that ends often", () => {
  test.each([
    ["before each acknowledgement of its first seconds", 2],
    ["after some silence", 8],
  ])("%s does not lose a message", async (_, seconds) => {
    const desk = new Desk();
    for (let n = 0; n < 5; n++) desk.happen("noise");
    for (let connection = 0; connection < 40; connection++) {
      const link = new FakeLink();
      link.acknowledges = false;
      desk.connect(link);
      await desk.clock.advance(`${seconds}s`);
      await desk.disconnect(link);
    }
    const good = new FakeLink();
    desk.connect(good);
    await desk.clock.advance("1m");
    expect(seqs(good)).toEqual([1, 2, 3, 4, 5]);
    expect(desk.outbox.lost).toBe(0);
    await desk.disconnect(good);
  });

  test("at any moment does not lose a message, even if each acknowledgement takes a second", async () => {
    const desk = new Desk();
    const chance = new SeededRandom(7);
    const delivered = new Set<number>();
    for (let n = 0; n < 400; n++) desk.happen("noise");
    for (let connection = 0; connection < 1500 && desk.outbox.usage("event").rows > 0; connection++) {
      const link = new FakeLink();
      link.acknowledges = false;
      desk.connect(link);
      // Half of the links end within five seconds, the others within thirty.
      const ends = chance.next() * (chance.next() < 0.5 ? 5 : 30);
      let due: (() => void)[] = [];
      for (let second = 0; second < ends; second++) {
        for (const acknowledge of due) acknowledge();
        due = link.waiting.splice(0);
        await desk.clock.advance("1s");
      }
      for (const seq of seqs(link)) delivered.add(seq);
      await desk.disconnect(link);
    }
    expect([desk.outbox.usage("event").rows, desk.outbox.usage("dead").rows, delivered.size]).toEqual([0, 0, 400]);
  });

  test("because it is stopped, or because another client takes over, does not blame a message", async () => {
    const desk = new Desk();
    desk.happen("one");
    for (const kind of ["stopped", "taken", "stopped", "taken", "stopped", "taken"] as const) {
      const link = new FakeLink();
      link.acknowledges = false;
      desk.connect(link);
      for (let second = 0; second < 30 && link.sent.length === 0; second++) await desk.clock.advance("1s");
      await desk.disconnect(link, new LinkError(kind, "the end"));
    }
    const good = new FakeLink();
    desk.connect(good);
    await desk.clock.advance("30s");
    expect(seqs(good)).toEqual([1]);
    await desk.disconnect(good);
  });
});
