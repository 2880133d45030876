import { describe, expect, test } from "vitest";
import type { CommandTaker } from "../../../agent/commands/desk/desk.ts";
import type { Answer, CommandRequest, DeskReply } from "../../../agent/commands/desk/request.ts";
import { Intake } from "../../../agent/fleet/intake.ts";
import type { Incoming } from "../../../agent/fleet/mqtt/link.ts";
import { States } from "../../../agent/fleet/reporting/states.ts";
import { SiteCommandGate } from "../../../agent/fleet/site-command-gate.ts";
import { Database } from "../../../storage/database/database.ts";
import { Outbox } from "../../../storage/outbox.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { pragmas } from "../../storage/object-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const identity = { fleet: "acme", site: "plant7", board: "pi-1" };
const me = "sw1/acme/plant7/pi-1";

const answer = (more: Partial<Answer> = {}): Answer => ({
  id: "1",
  name: "ping",
  scope: "board",
  body: { v: 1, id: "1", state: "succeeded", code: 200 },
  expirySeconds: 700,
  isTerminal: true,
  ...more,
});

const message = (topic: string, more: Partial<Incoming> = {}): Incoming => ({
  topic,
  payload: Buffer.from("{}"),
  retained: false,
  expirySeconds: 60,
  responseTopic: undefined,
  correlation: undefined,
  userProperties: new Map(),
  ...more,
});

/** A board whose desk answers as the test says. */
function board(
  take: (request: CommandRequest) => Promise<DeskReply> = async () => ({ answer: answer() }),
  isLeader = true,
) {
  const asked: CommandRequest[] = [];
  const answers: Answer[] = [];
  const desired: string[] = [];
  const bound = { rows: 100, bytes: 100_000 };
  const database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
  const outbox = new Outbox(database, { event: bound, response: bound });
  const states = new States();
  const gate = new SiteCommandGate();
  if (isLeader) gate.open({ isLeader, leader: "pi-1", term: 7 });
  const desk: CommandTaker = {
    take: (request) => {
      asked.push(request);
      return take(request);
    },
    async *leftover() {
      yield answer({ id: "old", scope: "site", name: "eviction.freeze" });
      const interrupted = { v: 1, id: "cut", state: "failed", code: 500, error: "interrupted" };
      yield answer({ id: "cut", scope: "site", name: "eviction.freeze", body: interrupted });
    },
    markDelivered: (one) => answers.push(one),
  };
  const ambient = { clock: new FakeClock(), random: new SeededRandom(), log: new RecordingLog() };
  const intake = new Intake(ambient, {
    identity,
    desk,
    outbox,
    states,
    bootId: "boot-1",
    standing: () => ({ isLeader, leader: isLeader ? "pi-1" : undefined, term: 7 }),
    gate,
    desired: ({ payload }) => void desired.push(Buffer.from(payload).toString()),
    added: () => {},
  });
  const waiting = () =>
    outbox
      .next("response", 100)
      .map(({ topic, retain, properties, ttl }) => ({ topic, retain, ttl, ...JSON.parse(properties) }));
  const fillDisk = (): void => void database.prepare("PRAGMA query_only = ON").run();
  return { intake, asked, answers, desired, waiting, states, fillDisk };
}

test("a command is passed on with all of its properties, and its answer is on disk when it is acknowledged", async () => {
  const { intake, asked, answers, waiting } = board();
  const userProperties = new Map([
    ["sig", "abc"],
    ["kid", "ops-1"],
    ["other", "x"],
  ]);
  await intake.receive(message(`${me}/cmd/ping/1`, { userProperties, retained: true }));
  expect(asked).toMatchObject([
    {
      origin: "mqtt",
      scope: "board",
      topic: `${me}/cmd/ping/1`,
      name: "ping",
      id: "1",
      retained: true,
      expirySeconds: 60,
      signature: { sig: "abc", kid: "ops-1" },
    },
  ]);
  expect(waiting()).toEqual([{ topic: `${me}/res/ping/1`, retain: true, ttl: 700_000, code: "200" }]);
  expect(answers).toHaveLength(1);
});

test.each([
  ["sw1/acme/_reply/ops/inbox", "sw1/acme/_reply/ops/inbox", false],
  [`${me}/res/elsewhere/1`, `${me}/res/elsewhere/1`, false],
  ["sw1/acme/plant7/pi-2/cmd/ping/1", `${me}/res/ping/1`, true],
  ["sw1/acme/_reply/#", `${me}/res/ping/1`, true],
  ["", `${me}/res/ping/1`, true],
])("a sender that requests its answer on %j gets it on %s", async (responseTopic, topic, retain) => {
  const { intake, waiting } = board();
  await intake.receive(message(`${me}/cmd/ping/1`, { responseTopic, correlation: "AQI=" }));
  expect(waiting()).toMatchObject([{ topic, retain, correlation: "AQI=" }]);
});

test("a sender that requests more correlation data than is kept is refused, and answered without it", async () => {
  for (const [bytes, isTooMuch] of [
    [1024, false],
    [1025, true],
    [60_000, true],
  ] as const) {
    const { intake, asked, waiting } = board();
    const correlation = Buffer.alloc(bytes, 1).toString("base64");
    await intake.receive(message(`${me}/cmd/ping/1`, { responseTopic: "sw1/acme/_reply/ops/inbox", correlation }));
    expect(asked[0]?.asksTooMuch ?? false).toBe(isTooMuch);
    expect(waiting()).toMatchObject([{ topic: "sw1/acme/_reply/ops/inbox" }]);
    expect(waiting()[0]?.correlation).toBe(isTooMuch ? undefined : correlation);
  }
});

test("progress and the final answer go to the same topic", async () => {
  async function* later() {
    yield answer({ body: { state: "running", code: 102 }, isTerminal: false });
    yield answer();
  }
  const { intake, answers, waiting } = board(async () => ({
    answer: answer({ body: { state: "accepted", code: 202 }, isTerminal: false }),
    later: later(),
  }));
  await intake.receive(message("sw1/acme/plant7/_site/cmd/ping/1"));
  await intake.settled();
  expect(waiting().map(({ topic, code }) => `${topic} ${code}`)).toEqual([
    "sw1/acme/plant7/_site/res/ping/1 202",
    "sw1/acme/plant7/_site/res/ping/1 102",
    "sw1/acme/plant7/_site/res/ping/1 200",
  ]);
  expect(answers).toHaveLength(1);
});

test.each([true, false])(
  "answers that the previous process still had to send go to the default topic (it leads: %s)",
  async (leads) => {
    const { intake, waiting } = board(undefined, leads);
    await intake.leftover(new AbortController().signal);
    expect(waiting()).toMatchObject([
      { topic: "sw1/acme/plant7/_site/res/eviction.freeze/old", retain: true },
      // Another leader may have been asked again, and have done it.
      { topic: "sw1/acme/plant7/_site/res/eviction.freeze/cut", retain: leads },
    ]);
  },
);

test("the desired configuration goes to its keeper alone", async () => {
  const { intake, asked, desired } = board();
  await intake.receive(message(`${me}/config/desired`, { payload: Buffer.from('{"v":1}') }));
  expect([asked, desired]).toEqual([[], ['{"v":1}']]);
});

test("a message on an unknown topic is counted by the desk, and has no answer", async () => {
  const { intake, asked, waiting } = board(async () => "no answer");
  for (const topic of [`${me}/cmd/ping`, `${me}/cmd/ping/a b`, "sw1/acme/plant7/pi-2/cmd/ping/1"])
    await intake.receive(message(topic));
  expect(asked.map(({ name, id }) => `${name}|${id}`)).toEqual(["|", "|", "|"]);
  expect(waiting()).toEqual([]);
});

test("a refusal by a board that does not lead does not replace the leader's answer to a site command", async () => {
  const refused = { v: 1, id: "1", state: "rejected", code: 421, error: "not-leader" };
  const taken = async (): Promise<DeskReply> => ({ answer: answer({ scope: "site", body: refused }) });
  const [leader, former] = [board(taken), board(taken, false)];
  for (const { intake } of [leader, former]) {
    await intake.receive(message("sw1/acme/plant7/_site/cmd/eviction.freeze/1"));
    await intake.receive(message(`${me}/cmd/ping/1`));
  }
  expect(leader.waiting().map(({ retain }) => retain)).toEqual([true, true]);
  expect(former.waiting().map(({ retain }) => retain)).toEqual([false, true]);
});

test("answers that cannot be written to disk wait in memory, in a limited number", async () => {
  const { intake, states, waiting, fillDisk } = board();
  fillDisk();
  await intake.receive(message(`${me}/cmd/ping/1`, { correlation: "aGVsbG8=" }));
  expect(waiting()).toEqual([]);
  expect([...states.list()]).toEqual([
    {
      topic: `${me}/res/ping/1`,
      payload: JSON.stringify(answer().body),
      retain: true,
      expiry: 700_000,
      code: "200",
      correlation: "aGVsbG8=",
      isUnwritten: true,
    },
  ]);
  for (let id = 2; id < 200; id++) await intake.receive(message(`${me}/cmd/ping/${id}`));
  expect(states.size).toBe(64);
});

test("countless refusals displace each other, but not the final answer of an accepted command", async () => {
  const end = answer({ id: "drain", name: "board.drain" });
  async function* later() {
    yield end;
  }
  const { intake, waiting } = board(async ({ id }) => {
    if (id !== "drain") return { answer: answer({ id, body: { v: 1, id, state: "rejected", code: 429 } }) };
    const accepted = { v: 1, id, state: "accepted", code: 202 };
    return { answer: answer({ id, name: "board.drain", body: accepted, isTerminal: false }), later: later() };
  });
  await intake.receive(message(`${me}/cmd/board.drain/drain`));
  await intake.settled();
  for (let id = 0; id < 500; id++) await intake.receive(message(`${me}/cmd/ping/${id}`));
  const topics = waiting().map(({ topic }) => topic);
  expect(topics.length).toBeLessThanOrEqual(100);
  expect(topics).toContain(`${me}/res/board.drain/drain`);
  expect(topics).toContain(`${me}/res/ping/499`);
  expect(topics).not.toContain(`${me}/res/ping/0`);
});

describe("a message that cannot be processed", () => {
  test("is not acknowledged, so that it is sent again, and is given up after the third delivery", async () => {
    const { intake } = board(async () => {
      throw new Error("the disk is full");
    });
    const one = message(`${me}/cmd/ping/1`);
    await expect(intake.receive(one)).rejects.toThrow("the disk is full");
    await expect(intake.receive(one)).rejects.toThrow("the disk is full");
    await intake.receive(one);
  });
});
