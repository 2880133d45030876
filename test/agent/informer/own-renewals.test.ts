import { describe, expect, test } from "vitest";
import type { Instant } from "../../../agent/base/clock.ts";
import { OwnRenewals } from "../../../agent/informer/own-renewals.ts";

/** Seconds since some moment. */
const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: seconds * 1000 }) as Instant;
const blip = 10_000;

/** A leader that renews every ten seconds, at versions 100, 110, …; each answer takes a second. */
function leaderSince(first: number, last: number): OwnRenewals {
  const renewals = new OwnRenewals();
  for (let second = first; second <= last; second += 10)
    renewals.add({ version: String(100 + second), sentAt: at(second), answeredAt: at(second + 1) });
  return renewals;
}

describe("a change of a Lease that arrives at a leader which has renewed at 0, 10, 20 and 30 s", () => {
  const renewals = leaderSince(0, 30);

  test.each([
    ["made after the last renewal, at once", "131", 32, 32],
    ["made at the last renewal", "130", 32, 32],
    ["made before the last renewal, which was answered a second ago", "129", 32, 32],
    ["made before the last renewal, which was answered ten seconds ago", "129", 41, 41],
    ["made before the last renewal, which was answered longer ago than that", "129", 42, 20],
    ["made before the renewal at 20 s", "119", 35, 10],
    ["made just after the first renewal", "101", 35, 0],
    ["made before all renewals", "99", 35, undefined],
  ])("shows how late its watch is: %s", (_, version, now, upTo) => {
    expect(renewals.deliveredUpTo(version, blip, at(now))).toEqual(upTo === undefined ? undefined : at(upTo));
  });
});

test("a board that has renewed nothing takes every change as just made", () => {
  expect(new OwnRenewals().deliveredUpTo("7", blip, at(50))).toEqual(at(50));
});

test("once the counter may have gone back, a change is taken as just made again", () => {
  const renewals = leaderSince(0, 30);
  renewals.clear();
  expect(renewals.deliveredUpTo("7", blip, at(50))).toEqual(at(50));
});

test("a change that is older than the 32 renewals that are kept proves nothing", () => {
  const renewals = leaderSince(0, 320);
  expect(renewals.deliveredUpTo("109", blip, at(350))).toBeUndefined();
  expect(renewals.deliveredUpTo("110", blip, at(350))).toEqual(at(10));
});

test("a version that is no number cannot be compared and proves nothing", () => {
  expect(leaderSince(0, 30).deliveredUpTo("x7", blip, at(50))).toBeUndefined();
});
