import { expect, test } from "vitest";
import type { Standing } from "../../../agent/commands/desk/controls.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { LinkError, PublishError } from "../../../agent/fleet/mqtt/link.ts";
import { LinkProblems } from "../../../agent/fleet/mqtt/link-problems.ts";
import { FleetEvents } from "../../../agent/fleet/reporting/events.ts";
import { OutboxPublisher } from "../../../agent/fleet/reporting/outbox-publisher.ts";
import { Reports } from "../../../agent/fleet/reporting/reports.ts";
import { States } from "../../../agent/fleet/reporting/states.ts";
import { live } from "../../../agent/fleet/session.ts";
import { SiteCommandGate } from "../../../agent/fleet/site-command-gate.ts";
import { Database } from "../../../storage/database/database.ts";
import { Memo } from "../../../storage/memo.ts";
import { Outbox } from "../../../storage/outbox.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { pragmas } from "../../storage/object-store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeLink } from "../../support/links/fake-link.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const identity = { fleet: "acme", site: "plant7", board: "pi-1" };
const me = "sw1/acme/plant7/pi-1";
const siteCommands = "sw1/acme/plant7/_site/cmd/#";
const denied = (what: string) => new PublishError("refused", 0x87, `the broker refuses ${what}: not authorized (0x87)`);

/** A board, and one connection of it. */
function connection(link: FakeLink, standing: Standing = { isLeader: false, leader: "pi-2", term: 3 }) {
  const clock = new FakeClock();
  const ambient = { clock, random: new SeededRandom(1), log: new RecordingLog() };
  const database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
  const bound = { rows: 100, bytes: 100_000 };
  const outbox = new Outbox(database, { event: bound, response: bound });
  const [states, linkProblems, gate] = [new States(), new LinkProblems(), new SiteCommandGate()];
  const bootId = "boot-1";
  const clockState = () => "synced" as const;
  const events = new FleetEvents(ambient, { identity, outbox, bootId, clockState, added: () => publisher.ring() });
  const { reportDropped } = events;
  const publisher = new OutboxPublisher(ambient, {
    identity,
    outbox,
    states,
    bootId,
    events,
    linkProblems,
    reportDropped,
  });
  const board = { standing, isReady: false, linkProblems, clock, ended: undefined as LinkError | undefined };
  const reports = new Reports({
    identity,
    config: loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined }).config,
    memo: new Memo(database),
    states,
    clockState,
    status: () => undefined,
    standing: () => board.standing,
    birth: () => ({}),
    reported: () => undefined,
  });
  const stop = new AbortController();
  const deps = { identity, session: { number: 1, bootId }, link, publisher, reports, clockState, gate, linkProblems };
  const ready = (): void => {
    board.isReady = true;
  };
  void live(ambient, { ...deps, standing: () => board.standing, ready }, stop.signal).then((error) => {
    board.ended = error;
  });
  return { board, clock, states, stop: () => stop.abort(new Error("the agent ends")) };
}

test("a link is ready when the broker has this board's presence and delivers its messages, and not before", async () => {
  const link = new FakeLink();
  link.acknowledges = false;
  const { board, clock } = connection(link);
  await clock.advance("20s");
  expect([link.topics, board.isReady]).toEqual([[`${me}/up`], false]);
  link.waiting.shift()?.();
  await clock.advance("1s");
  expect(board.isReady).toBe(true);
  expect([...link.subscriptions]).toEqual([`${me}/cmd/#`, "sw1/acme/_all/cmd/#", `${me}/config/desired`]);
});

test.each([
  ["before the broker acknowledged anything", "0s", false],
  ["in the middle of its work", "10s", true],
])("an agent that ends %s announces that, and does not wait any longer", async (_, after, isReady) => {
  const link = new FakeLink();
  link.acknowledges = isReady;
  const { board, clock, stop } = connection(link);
  await clock.advance(after);
  link.acknowledges = false;
  stop();
  await clock.advance("1s");
  expect(link.payloads.map((text) => JSON.parse(text).state).filter(Boolean)).toEqual(["online", "offline"]);
  expect([board.isReady, board.ended]).toEqual([isReady, undefined]);
  await clock.advance("500ms");
  expect(board.ended).toMatchObject({ kind: "stopped" });
});

test("an answer that could not be written to disk is sent before the goodbye, even if its life ends immediately", async () => {
  const link = new FakeLink();
  const { board, clock, states, stop } = connection(link);
  await clock.advance("10s");
  const before = link.topics.length;
  states.put({ topic: `${me}/res/log.level/A`, payload: "{}", retain: true, isUnwritten: true });
  stop();
  await clock.advance("3s");
  expect(board.ended).toMatchObject({ kind: "stopped" });
  expect(link.topics.slice(before)).toEqual([`${me}/res/log.level/A`, `${me}/up`]);
});

test("an agent can end while a subscription waits for its acknowledgement", async () => {
  const link = new FakeLink();
  const asked: string[] = [];
  link.subscribe = ([first]) => {
    asked.push(first?.filter ?? "");
    return new Promise((_, reject) => {
      void link.ended.then((error) => reject(new PublishError("lost", 0, error.message)));
    });
  };
  const { board, clock, stop } = connection(link);
  await clock.advance("10s");
  expect(asked).toEqual([`${me}/cmd/#`]);
  stop();
  await clock.advance("3s");
  expect(board.ended).toMatchObject({ kind: "stopped" });
});

test("an agent that ends before it announced itself announces only its end", async () => {
  const link = new FakeLink();
  const { board, clock, stop } = connection(link);
  stop();
  await clock.advance("3s");
  expect(board.ended).toMatchObject({ kind: "stopped" });
  expect(link.topics.every((topic) => topic === `${me}/up`)).toBe(true);
  expect(JSON.parse(link.payloads.at(-1) ?? "")).toMatchObject({ state: "offline" });
});

test("a broker that refuses the presence or the subscriptions is left, and the hint names its ACL", async () => {
  for (const part of ["up", "cmd"]) {
    const link = new FakeLink();
    link.refuse = ({ topic }) => (part === "up" && topic.endsWith("/up") ? denied(topic) : undefined);
    link.refuseFilter = (filter) =>
      part === "cmd" && filter.endsWith("/cmd/#") ? denied("a subscription") : undefined;
    const { board, clock } = connection(link);
    await clock.advance("1s");
    expect(board.ended).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("not authorized"),
      hint: "Add the lines that siteward broker-acl prints for acme/plant7/pi-1 to the broker's ACL.",
    });
    expect(board.isReady).toBe(false);
  }
});

test("a broker with a packet limit too small for the presence is reported as such", async () => {
  const link = new FakeLink();
  link.refuse = ({ topic }) => new PublishError("oversize", 64, `${topic}: 230 bytes, and the broker takes 64`);
  const { board, clock } = connection(link);
  await clock.advance("1s");
  expect(board.ended).toMatchObject({ kind: "refused", hint: expect.stringContaining("max_packet_size") });
  expect(board.ended?.hint).not.toContain("acl");
});

test("a leader that is refused its site commands continues, reports that, and retries", async () => {
  const link = new FakeLink();
  let asked = 0;
  let isRefused = true;
  link.refuseFilter = (filter) => {
    if (filter !== siteCommands) return undefined;
    asked++;
    return isRefused ? denied(filter) : undefined;
  };
  const { board, clock } = connection(link, { isLeader: true, leader: "pi-1", term: 4 });
  await clock.advance("1m");
  expect([asked, board.ended, board.isReady]).toEqual([1, undefined, true]);
  expect(board.linkProblems.list()).toMatchObject([
    { type: "SiteCommandsRefused", severity: "warning", hint: expect.stringContaining("broker-acl") },
  ]);
  isRefused = false;
  await clock.advance("5m");
  expect([asked, link.subscriptions.has(siteCommands), board.linkProblems.list()]).toEqual([2, true, []]);
});

test("a board that no longer leads does not report a problem with site commands", async () => {
  const link = new FakeLink();
  link.refuseFilter = (filter) => (filter === siteCommands ? denied(filter) : undefined);
  const { board, clock } = connection(link, { isLeader: true, leader: "pi-1", term: 4 });
  await clock.advance("1m");
  expect(board.linkProblems.list()).toHaveLength(1);
  board.standing = { isLeader: false, leader: "pi-2", term: 5 };
  await clock.advance("2s");
  expect(board.linkProblems.list()).toEqual([]);
  // When it leads again it asks at once.
  board.standing = { isLeader: true, leader: "pi-1", term: 6 };
  await clock.advance("10s");
  expect(board.linkProblems.list()).toHaveLength(1);
});

test("a wait ends with the link's reason if the connection is lost", async () => {
  const link = new FakeLink();
  link.acknowledges = false;
  const { board, clock } = connection(link);
  await clock.advance("1s");
  link.abandon(new LinkError("lost", "the broker does not acknowledge what this board sends"));
  await clock.advance("1s");
  expect(board.ended).toMatchObject({ kind: "lost", message: expect.stringContaining("acknowledge") });
});
