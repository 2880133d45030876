import { beforeEach, expect, test } from "vitest";
import { FleetEvents } from "../../../../agent/fleet/reporting/events.ts";
import type { FleetEventSeverity } from "../../../../agent/fleet/reporting/fleet-events.ts";
import { Database } from "../../../../storage/database/database.ts";
import { Outbox } from "../../../../storage/outbox.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { pragmas } from "../../../storage/object-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const identity = { fleet: "acme", site: "plant7", board: "pi-1" };
let clock: FakeClock;
let log: RecordingLog;
let database: Database;
let outbox: Outbox;
let events: FleetEvents;
let rings: number;

beforeEach(() => {
  clock = new FakeClock("2026-11-20T12:00:00Z");
  log = new RecordingLog();
  database = Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });
  const bound = { rows: 1000, bytes: 1_000_000 };
  outbox = new Outbox(database, { event: bound, response: bound });
  rings = 0;
  events = new FleetEvents(
    { clock, random: new SeededRandom(), log },
    { identity, outbox, bootId: "boot-1", clockState: () => "synced", added: () => rings++ },
  );
});

const fillDisk = (isFull: boolean): void => void database.prepare(`PRAGMA query_only = ${isFull ? "ON" : "OFF"}`).run();
const note = (type: string, severity: FleetEventSeverity = "info"): void => events.note({ type, severity, detail: {} });
const stored = (): unknown[] =>
  outbox.next("event", 1000).map(({ payload, topic }) => {
    const { seq, at } = JSON.parse(payload);
    return `${seq} ${topic.split("/").at(-1)} ${at}`;
  });

test("events that occur while the disk is full are reported in order, with their own times, as soon as there is room", async () => {
  note("zone.state");
  fillDisk(true);
  note("condition.raised", "warning");
  await clock.advance("60s");
  note("leader.lost", "warning");
  events.retry();
  expect(stored()).toEqual(["1 zone.state 2026-11-20T12:00:00.000Z"]);
  fillDisk(false);
  await clock.advance("10s");
  events.retry();
  expect(stored()).toEqual([
    "1 zone.state 2026-11-20T12:00:00.000Z",
    "2 condition.raised 2026-11-20T12:00:00.000Z",
    "3 leader.lost 2026-11-20T12:01:00.000Z",
  ]);
  expect(rings).toBe(3);
  expect(log.said("warn")).toEqual(["events for the fleet cannot be stored"]);
});

test("a full disk does not fill the memory, because the least important events are dropped first, and the log says so", async () => {
  fillDisk(true);
  note("first", "critical");
  note("second");
  for (let n = 0; n < 63; n++) note("warned", "warning");
  expect(log.lines.filter(({ message }) => message === "an event for the fleet is lost")).toMatchObject([
    { fields: { type: "second" } },
  ]);
  for (let n = 0; n < 100; n++) note("more", "warning");
  fillDisk(false);
  await clock.advance("10s");
  note("last");
  expect(outbox.usage("event").rows).toBe(65);
  expect(stored().at(0)).toContain("1 first ");
  expect(stored().at(-1)).toContain("65 last ");
});
