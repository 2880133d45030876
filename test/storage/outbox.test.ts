import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { Outbox, type OutboxMessage, ttlLeft } from "../../storage/outbox.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { pragmas, scratch } from "./object-store.ts";

const bounds = { event: { rows: 5, bytes: 10_000 }, response: { rows: 3, bytes: 10_000 } };
const boot = "boot-1";
const at = (mono: number) => ({ boot, mono });

const open = (file = ":memory:"): Database => Database.open({ file, migrations: stateMigrations, pragmas });

const message = (payload: string, more: Partial<OutboxMessage> = {}): OutboxMessage => ({
  topic: "sw1/a/b/c/event/x",
  payload,
  retain: false,
  properties: "{}",
  rank: 1,
  ttl: 60_000,
  ...more,
});

const events = (outbox: Outbox): readonly string[] =>
  outbox.next("event", 100).map(({ seq, payload }) => `${seq}:${payload}`);
const nothing = (): void => {};

describe("events", () => {
  test("are numbered without gaps, even across a restart, and are returned in their order", () => {
    using folder = scratch();
    const file = folder.file("state.db");
    const first = open(file);
    const before = new Outbox(first, bounds);
    for (const name of ["a", "b"]) before.event((seq) => message(`${name}${seq}`), at(0));
    // The power goes: nothing is closed.
    first.closeWithoutCheckpoint();
    const after = new Outbox(open(file), bounds);
    expect(after.event((seq) => message(`c${seq}`), at(0))).toBe(3);
    expect(events(after)).toEqual(["1:a1", "2:b2", "3:c3"]);
  });

  test("are dropped in order, the oldest of the least severe first, and critical ones only if nothing else is left", () => {
    const outbox = new Outbox(open(), bounds);
    for (const rank of [3, 1, 0, 2, 0, 1, 3, 3, 3, 3, 3])
      outbox.event((seq) => message(`r${rank}`, { rank, ttl: seq * 1000 + 60_000 }), at(0));
    // Eleven came, five may stay: both debug, both info and the warning went, then the oldest critical one.
    expect(events(outbox)).toEqual(["7:r3", "8:r3", "9:r3", "10:r3", "11:r3"]);
    expect(outbox.dropped).toEqual({ count: 6, from: 1, to: 6 });
    expect(outbox.lost).toBe(6);
  });

  test("that were dropped are reported once, by a separate event, when there is room", () => {
    const outbox = new Outbox(open(), bounds);
    for (let n = 0; n < 7; n++) outbox.event(() => message("x"), at(0));
    expect(outbox.hasRoom).toBe(false);
    for (const { id } of outbox.next("event", 2)) outbox.delete(id);
    expect(outbox.hasRoom).toBe(true);
    outbox.reportDropped(({ count, from, to }, seq) => message(JSON.stringify({ count, from, to, seq })), at(0));
    expect(events(outbox).at(-1)).toBe('8:{"count":2,"from":1,"to":2,"seq":8}');
    expect(outbox.dropped).toBeUndefined();
    outbox.reportDropped(() => message("again"), at(0));
    expect(events(outbox).at(-1)).toContain("8:");
  });

  test("stay within a limit in bytes, but a single event that is larger is still kept", () => {
    const outbox = new Outbox(open(), { ...bounds, event: { rows: 100, bytes: 1000 } });
    for (let n = 0; n < 10; n++) outbox.event(() => message("x".repeat(200)), at(0));
    expect(outbox.usage("event").bytes).toBeLessThanOrEqual(1000);
    outbox.event(() => message("y".repeat(5000)), at(0));
    expect(outbox.usage("event").rows).toBe(1);
  });
});

test("answers that are not final are dropped first", () => {
  const outbox = new Outbox(open(), bounds);
  for (const [payload, rank] of [
    ["final-1", 1],
    ["progress", 0],
    ["final-2", 1],
    ["final-3", 1],
  ] as const)
    outbox.respond(message(payload, { rank }), at(0), nothing);
  expect(outbox.next("response", 10).map(({ payload }) => payload)).toEqual(["final-1", "final-2", "final-3"]);
  expect(outbox.dropped).toBeUndefined();
  expect(outbox.lost).toBe(1);
});

test("an answer and its transaction are written together or not at all", () => {
  const outbox = new Outbox(open(), bounds);
  const failing = (): void => {
    throw new Error("the log cannot be written");
  };
  expect(() => outbox.respond(message("final"), at(0), failing)).toThrow("the log");
  expect(outbox.usage("response").rows).toBe(0);
});

describe("time", () => {
  test("expired messages are deleted, and expired events are reported", () => {
    const outbox = new Outbox(open(), bounds);
    outbox.event(() => message("short", { ttl: 1000 }), at(0));
    outbox.event(() => message("long", { ttl: 5000 }), at(0));
    outbox.respond(message("answer", { ttl: 1000 }), at(0), nothing);
    outbox.expire(at(999));
    expect(events(outbox)).toHaveLength(2);
    outbox.expire(at(1000));
    expect(events(outbox)).toEqual(["2:long"]);
    expect(outbox.usage("response").rows).toBe(0);
    expect(outbox.dropped).toEqual({ count: 1, from: 1, to: 1 });
  });

  test("a message from before a reboot expires later, never sooner", () => {
    const outbox = new Outbox(open(), bounds);
    outbox.event(() => message("x", { ttl: 10_000 }), at(900_000));
    const [row] = outbox.next("event", 1);
    if (!row) throw new Error("the event is not there");
    expect(ttlLeft(row, at(904_000))).toBe(6000);
    expect(ttlLeft(row, { boot: "boot-2", mono: 4000 })).toBe(6000);
    outbox.expire({ boot: "boot-2", mono: 9000 });
    expect(events(outbox)).toHaveLength(1);
    outbox.expire({ boot: "boot-2", mono: 10_000 });
    expect(events(outbox)).toHaveLength(0);
  });
});

test("messages larger than the broker's limit are kept for inspection, but never more than ten of them", () => {
  const outbox = new Outbox(open(), { ...bounds, event: { rows: 100, bytes: 100_000 } });
  for (let n = 0; n < 15; n++) outbox.event(() => message("x"), at(0));
  for (const { id } of outbox.next("event", 100)) outbox.markUndeliverable(id);
  expect(outbox.usage("event").rows).toBe(0);
  expect(outbox.usage("dead").rows).toBe(10);
});

describe("versions", () => {
  const [first, ...later] = stateMigrations;
  const openOld = (file: string) => Database.open({ file, migrations: first ? [first] : [], pragmas });

  test("a program that knows only the first tables uses a file with more tables, and does not change those", () => {
    using folder = scratch();
    const file = folder.file("state.db");
    const now = open(file);
    new Outbox(now, bounds).event(() => message("kept"), at(0));
    now.close();
    const old = openOld(file);
    old.prepare("INSERT INTO memo VALUES ('a', 'k', 'v')").run();
    old.close();
    const again = open(file);
    expect(events(new Outbox(again, bounds))).toEqual(["1:kept"]);
    again.close();
    expect(later.length).toBeGreaterThan(0);
    expect(readFileSync(file).byteLength).toBeGreaterThan(0);
  });

  test("a migration step that does more than add tables keeps older programs out", () => {
    using folder = scratch();
    const file = folder.file("state.db");
    const number = stateMigrations.length + 1;
    Database.open({
      file,
      migrations: [...stateMigrations, { number, sql: "CREATE TABLE other (a)" }],
      pragmas,
    }).close();
    expect(() => open(file)).toThrow(expect.objectContaining({ kind: "newer" }));
  });

  test("a file of a newer version without one of our tables is damaged", () => {
    using folder = scratch();
    const file = folder.file("state.db");
    const number = stateMigrations.length + 1;
    const sql = "DROP TABLE outbox; CREATE TABLE other (a);";
    Database.open({ file, migrations: [...stateMigrations, { number, sql, readableFrom: 1 }], pragmas }).close();
    expect(() => open(file)).toThrow(expect.objectContaining({ kind: "damaged" }));
  });
});

test("correlation data of an answer counts towards the size like its payload", () => {
  const outbox = new Outbox(open(), { ...bounds, response: { rows: 100, bytes: 1000 } });
  const properties = JSON.stringify({ code: "200", correlation: "x".repeat(300) });
  for (let n = 0; n < 10; n++) outbox.respond(message(`${n}`, { properties }), at(0), nothing);
  expect(outbox.next("response", 100).map(({ payload }) => payload)).toEqual(["8", "9"]);
  expect(outbox.usage("response").bytes).toBeLessThanOrEqual(1000);
});

test("excluded messages do not block the others", () => {
  const outbox = new Outbox(open(), { ...bounds, event: { rows: 1000, bytes: 1_000_000 } });
  for (let n = 0; n < 500; n++) outbox.event((seq) => message(`${seq}`), at(0));
  const first = outbox.next("event", 499).map(({ id }) => id);
  expect(outbox.next("event", 1, { ids: first }).map(({ payload }) => payload)).toEqual(["500"]);
  expect(outbox.next("event", 1, { ids: [...first, Number.MAX_SAFE_INTEGER, 0] }).map(({ seq }) => seq)).toEqual([500]);
});
