import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { parseWindows } from "../../../agent/config/cron.ts";
import { quietHours } from "../../../agent/upkeep/quiet-hours.ts";
import { utc, type Zone, zoneNamed } from "../../../agent/upkeep/time-zone.ts";

const berlin = zoneNamed("Europe/Berlin", (file) => readFileSync(file));

const at = (wall: string): Instant => ({ mono: 5_000_000, wall: Date.parse(wall) });

function asked(windows: string, zone: Zone | undefined = utc) {
  const parsed = parseWindows(windows);
  if (!parsed) throw new Error(`no windows: ${windows}`);
  const quietHoursAt = quietHours(parsed, zone);
  return (wall: string): string | undefined => {
    const quiet = quietHoursAt(at(wall), "synced");
    return quiet && (quiet.until ? new Date(quiet.until.wall).toISOString().slice(0, 16) : "unknown");
  };
}

test.each([
  ["just before it begins: no", "2026-11-20T21:59:59Z", undefined],
  ["when it begins: yes", "2026-11-20T22:00:00Z", "2026-11-21T06:00"],
  ["after midnight: yes", "2026-11-21T01:00:00Z", "2026-11-21T06:00"],
  ["at the last moment: yes", "2026-11-21T05:59:59Z", "2026-11-21T06:00"],
  ["at its end: no", "2026-11-21T06:00:00Z", undefined],
  ["at noon the next day: no", "2026-11-21T12:00:00Z", undefined],
])("the night of every day is quiet: %s", (_, wall, until) => {
  expect(asked("0 22 * * * for 8h")(wall)).toBe(until);
});

test("days that do not match are not quiet, and a window may last over several days", () => {
  const weekend = asked("0 18 * * fri for 2d12h");
  expect(weekend("2026-11-20T17:59:00Z")).toBeUndefined(); // a Friday
  expect(weekend("2026-11-20T18:00:00Z")).toBe("2026-11-23T06:00");
  expect(weekend("2026-11-23T05:00:00Z")).toBe("2026-11-23T06:00");
  expect(weekend("2026-11-23T06:00:00Z")).toBeUndefined();
});

test("the end of several overlapping windows is that of the last one", () => {
  const both = asked("0 22 * * * for 8h; 0 23 * * * for 10h");
  expect(both("2026-11-20T22:30:00Z")).toBe("2026-11-21T06:00");
  expect(both("2026-11-20T23:30:00Z")).toBe("2026-11-21T09:00");
});

test("a window that begins again while it lasts continues", () => {
  expect(asked("*/10 * * * * for 30m")("2026-11-20T12:19:00Z")).toBe("2026-11-20T12:40");
});

test("hours are those of the board's time zone, in summer and in winter", () => {
  const night = asked("30 22 * * * for 1h", berlin);
  expect(night("2026-07-01T20:30:00Z")).toBe("2026-07-01T21:30");
  expect(night("2026-12-01T20:30:00Z")).toBeUndefined();
  expect(night("2026-12-01T21:30:00Z")).toBe("2026-12-01T22:30");
});

test("hours that begin in the gap of summer time are not left out, and ambiguous hours begin with the first of the two", () => {
  const early = asked("30 2 * * * for 3h", berlin);
  // 29 March 2026: 02:30 does not exist; reckoned by the offset before the gap it is 03:30 of summer time.
  expect(early("2026-03-29T01:29:59Z")).toBeUndefined();
  expect(early("2026-03-29T01:30:00Z")).toBe("2026-03-29T04:30");
  // 25 October 2026: 02:30 comes at 00:30Z and at 01:30Z.
  expect(early("2026-10-25T00:30:00Z")).toBe("2026-10-25T03:30");
  expect(early("2026-10-25T01:45:00Z")).toBe("2026-10-25T03:30");
});

test("a board with quiet hours and an unknown time evicts nothing, and reports why", () => {
  const windows = parseWindows("0 22 * * * for 8h") ?? [];
  const quiet = quietHours(windows, utc)(at("1970-01-01T00:05:00Z"), "unsynced");
  expect(quiet).toEqual({
    until: undefined,
    why: "the clock is not synchronised, so this board does not know whether quiet hours have begun",
  });
  expect(quietHours(windows, undefined)(at("2026-11-20T12:00:00Z"), "synced")?.why).toContain("board.timeZone");
});

test("without quiet hours nothing is held, regardless of what the clock shows", () => {
  expect(quietHours([], utc)(at("1970-01-01T00:05:00Z"), "unsynced")).toBeUndefined();
  expect(quietHours([], undefined)(at("2026-11-20T12:00:00Z"), "synced")).toBeUndefined();
});

test("when the clock is corrected, the end moves with it, on the monotonic clock too", () => {
  const quietHoursAt = quietHours(parseWindows("0 22 * * * for 8h") ?? [], utc);
  const before = quietHoursAt({ mono: 1000, wall: Date.parse("2026-11-20T23:00:00Z") }, "synced");
  const corrected = quietHoursAt({ mono: 2000, wall: Date.parse("2026-11-21T05:00:00Z") }, "synced");
  expect(before?.until?.mono).toBe(1000 + 7 * 3_600_000);
  expect(corrected?.until?.mono).toBe(2000 + 3_600_000);
});
