import { afterEach, describe, expect, test } from "vitest";
import { FleetEvents } from "../../../agent/fleet/events.ts";
import type { Severity } from "../../../agent/fleet/fleet-events.ts";
import { LinkError, PublishError } from "../../../agent/fleet/link.ts";
import { LinkProblems } from "../../../agent/fleet/link-problems.ts";
import { OutboxPublisher } from "../../../agent/fleet/outbox-publisher.ts";
import { States } from "../../../agent/fleet/states.ts";
import { Database } from "../../../storage/database.ts";
import { Outbox } from "../../../storage/outbox.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { pragmas } from "../../storage/things.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const identity = { fleet: "acme", site: "plant7", board: "pi-1" };
const bootId = "boot-1";

/** A board with its outbox, and broker links as they come and go. */
class Desk {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly outbox: Outbox;
  readonly states = new States();
  readonly troubles = new LinkProblems();
  readonly events: FleetEvents;
  readonly drain: OutboxPublisher;
  readonly #database: Database;
  #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(rows = 2000) {
    const database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
    this.#database = database;
    const bound = { rows, bytes: 4 * 2 ** 20 };
    this.outbox = new Outbox(database, { event: bound, response: bound });
    const ambient = { clock: this.clock, random: new SeededRandom(1), log: this.log };
    const { outbox, states, troubles } = this;
    const added = (): void => this.drain.ring();
    this.events = new FleetEvents(ambient, { identity, outbox, bootId, clockState: () => "synced", added });
    const { tellDropped } = this.events;
    this.drain = new OutboxPublisher(ambient, {
      outbox,
      states,
      bootId,
      happenings: this.events,
      troubles,
      tellDropped,
    });
  }

  connect(link: FakeLink): void {
    this.#stop = new AbortController();
    this.#running = this.drain.run(link, this.#stop.signal);
  }

  async disconnect(link: FakeLink): Promise<void> {
    link.abandon(new LinkError("lost", "the broker went away"));
    this.#stop.abort();
    await this.clock.settle();
    await this.#running;
  }

  fillDisk(isFull: boolean): void {
    this.#database.prepare(`PRAGMA query_only = ${isFull ? "ON" : "OFF"}`).run();
  }

  happen(type: string, severity: Severity = "info"): void {
    this.events.note({ type, severity, detail: {} });
  }

  respond(payload: string, topic = "sw1/acme/plant7/pi-1/res/ping/1", ttl = 60_000): void {
    const letter = { topic, payload, retain: true, rank: 1, ttl };
    this.outbox.respond(
      { ...letter, properties: '{"code":"200"}' },
      { boot: bootId, mono: this.clock.now().mono },
      () => {},
    );
    this.drain.ring();
  }
}

const desks: Desk[] = [];
afterEach(() => void desks.splice(0));

const seqs = (link: FakeLink): readonly number[] =>
  link.sent
    .filter(({ topic }) => topic.includes("/event/"))
    .map(({ payload }) => (JSON.parse(payload) as { seq: number }).seq);

test("states come first, then answers, then events in their order", async () => {
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

test("after a day without the broker it gets ten messages a second, in order, each once, and a note of what is missing", async () => {
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
  const told = seqs(link);
  expect(told).toEqual([...told].sort((a, b) => a - b));
  expect(new Set(told).size).toBe(told.length);
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

test("at most four wait for their acknowledgement, and a critical event by itself", async () => {
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

test("what was not acknowledged when the link was lost is sent again under its number", async () => {
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
  test("keeps the row, is asked more and more rarely, and the refusal is told once", async () => {
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
    expect(desk.outbox.usage("event").rows).toBe(2);
    link.refuse = () => undefined;
    await desk.clock.advance("2h");
    expect(link.topics.filter((topic) => topic.includes("/event/")).map((topic) => topic.split("/").at(-1))).toEqual([
      "secret",
      "mqtt.denied",
    ]);
    await desk.disconnect(link);
  });

  test("a state that it refuses holds up nothing else", async () => {
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

test("answers to a place that the broker refuses hold up no others, however many they are, and are told once", async () => {
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
  const told = link.payloads.filter((payload) => /^\d+$/.test(payload));
  expect(new Set(told).size).toBe(200);
  await desk.disconnect(link);
});

test("a document that is always larger than the broker takes is one trouble, told once, and over when it fits", async () => {
  const desk = new Desk();
  const link = new FakeLink();
  let limit = 300;
  link.refuse = ({ topic, payload }) =>
    payload.length > limit ? new PublishError("oversize", limit, `${topic}: too large`) : undefined;
  const put = (name: string, bytes: number): void => {
    desk.states.put({ topic: `sw1/acme/plant7/pi-1/${name}`, payload: "x".repeat(bytes), retain: true });
    desk.drain.ring();
  };
  desk.connect(link);
  for (let minute = 0; minute < 60; minute++) {
    put("status", 2000 + minute);
    put("birth", 3000);
    await desk.clock.advance("1m");
  }
  expect(desk.log.said("warn")).toHaveLength(2);
  expect(link.topics.filter((topic) => topic.endsWith("outbox.oversize"))).toHaveLength(2);
  expect(desk.troubles.list()).toMatchObject([
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
  expect(desk.troubles.list()).toMatchObject([{ message: expect.not.stringContaining("status") }]);
  limit = 65_536;
  put("birth", 3000);
  await desk.clock.advance("1m");
  expect(desk.troubles.list()).toEqual([]);
  await desk.disconnect(link);
});

test("what is larger than the broker takes is buried and told, and makes no loop, not even where that is too large as well", async () => {
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

test("the newest document of a topic is the one that is sent", async () => {
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

test("a disk that is full keeps nobody silent: what waits is sent once, and deleted when there is room", async () => {
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
