import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type ReadBytes, utc, zoneFrom, zoneNamed } from "../../../agent/upkeep/time-zone.ts";
import { ruleFrom, ruleOffset } from "../../../agent/upkeep/zone-rule.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const read: ReadBytes = (file) => {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
};

/** What ICU says, which the agent does without. */
function offsetByIntl(zone: string, wall: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(wall);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")) - wall;
}

test.each([
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "America/Sao_Paulo",
  "Pacific/Chatham",
  "Africa/Johannesburg",
  "Europe/Dublin",
  "Etc/GMT+5",
])("the local time of %s follows the zone's rules, today and in twelve years", (name) => {
  const zone = zoneNamed(name, read);
  if (!zone) throw new Error(`no ${name} here: install tzdata`);
  const random = new SeededRandom(7);
  const [from, to] = [Date.UTC(2015, 0, 1), Date.UTC(2037, 0, 1)];
  for (let i = 0; i < 300; i++) {
    const wall = Math.floor((from + random.next() * (to - from)) / 1000) * 1000;
    expect(zone.offsetAt(wall), new Date(wall).toISOString()).toBe(offsetByIntl(name, wall));
  }
});

test.each([
  ["CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 1],
  ["CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 2],
  ["CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59Z", 2],
  ["CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 1],
  // South of the equator summer lasts over the turn of the year.
  ["AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 11],
  ["AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 10],
  ["<+0530>-5:30", "2026-07-01T00:00:00Z", 5.5],
  // 29 February is day 59 of the year for one form and not counted by the other.
  ["XXX0YYY,59/0,J60/2", "2028-02-29T00:30:00Z", 1],
  ["XXX0YYY,J60/0,J61/0", "2028-02-29T12:00:00Z", 0],
])("by the rule %s the local time at %s is %d hours ahead", (rule, at, hours) => {
  const parsed = ruleFrom(rule);
  if (!parsed) throw new Error(`not read: ${rule}`);
  expect(ruleOffset(parsed, Date.parse(at)) / 3_600_000).toBe(hours);
});

test.each(["", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,huh,M10.5.0", "-1"])("%j is not a rule", (rule) => {
  expect(ruleFrom(rule)).toBeUndefined();
});

test("a file that is truncated, or has other content, is not a time zone and does not cause a crash", () => {
  const berlin = read("/usr/share/zoneinfo/Europe/Berlin");
  if (!berlin) throw new Error("no zones here: install tzdata");
  for (let length = 0; length < berlin.length; length += 7) {
    const cut = zoneFrom(berlin.subarray(0, length));
    expect([undefined, 3_600_000, 7_200_000], `${length} bytes`).toContain(cut?.offsetAt(Date.UTC(2026, 6, 1)));
  }
  expect(
    zoneFrom(new TextEncoder().encode("hello, this is no zone at all, but long enough to be one")),
  ).toBeUndefined();
});

test("a board without /etc/localtime is in UTC; a missing zone is not guessed", () => {
  expect(zoneNamed(undefined, () => undefined)).toBe(utc);
  expect(zoneNamed("UTC", () => undefined)).toBe(utc);
  expect(zoneNamed("Europe/Berln", read)).toBeUndefined();
});
