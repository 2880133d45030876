import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import type { Link } from "../../../agent/judgement/link.ts";
import { flappingSince, missedSince, nextRespites, type Respite } from "../../../agent/judgement/respites.ts";

const start: Instant = { mono: 500_000, wall: 0 };
const at = (seconds: number): Instant => shifted(start, seconds * 1000);
const linkSince = (seconds: number | undefined, live = true): Link => ({
  live,
  notLiveSince: undefined,
  restoredAt: seconds === undefined ? undefined : at(seconds),
  proof: { nodes: undefined, leases: undefined },
});
const respite = (since: number, length: number, heard = length): Respite => ({
  since: at(since),
  length: length * 1000,
  heard: heard * 1000,
});

describe("the times between outages", () => {
  const later = (
    before: readonly Respite[],
    since: number | undefined,
    now: number,
    { heard = now, live = true }: { readonly heard?: number | null; readonly live?: boolean } = {},
  ): readonly Respite[] => {
    const heardAt = heard === null ? undefined : at(heard);
    return nextRespites(before, { link: linkSince(since, live), heardAt }, at(now));
  };

  test("begin with the end of the first outage", () => {
    expect(later([], undefined, 50)).toEqual([]);
    expect(later([], 60, 65)).toEqual([respite(60, 5)]);
  });

  test("last until the last pass that found the link live", () => {
    const before = later([], 60, 65);
    expect(later(before, 60, 70)).toEqual([respite(60, 10)]);
    expect(later(before, 60, 70, { live: false })).toBe(before);
    expect(later(before, 80, 82)).toEqual([respite(60, 5), respite(80, 2)]);
    expect(later(before, 80, 82, { live: false, heard: null })).toEqual([respite(60, 5), respite(80, 0)]);
  });

  test("count boards as heard until the last heartbeat, and not at all while too few are heard", () => {
    const before = later([], 60, 70, { heard: 68 });
    expect(before).toEqual([respite(60, 10, 8)]);
    expect(later(before, 60, 80, { heard: 68 })).toEqual([respite(60, 20, 8)]);
    expect(later(before, 60, 80, { heard: 79 })).toEqual([respite(60, 20, 19)]);
    expect(later(before, 90, 95, { heard: 89 })).toEqual([respite(60, 10, 8), respite(90, 5, 0)]);
    expect(later(before, 90, 95, { heard: null })).toEqual([respite(60, 10, 8), respite(90, 5, 0)]);
  });

  test("are remembered while they are recent", () => {
    let respites: readonly Respite[] = [];
    for (let minute = 0; minute < 1000; minute++) respites = later(respites, 60 * minute, 60 * minute + 20);
    expect(respites).toHaveLength(32);
    expect(respites.at(-1)).toEqual(respite(60 * 999, 20));
  });
});

describe("what a silent board missed, with a grace period of 60 s,", () => {
  const missed = (respites: readonly Respite[], { probe = 0, present = 300 } = {}): number | undefined => {
    const given = { link: linkSince(present), gracePeriod: 60_000 };
    return missedSince(at(probe), respites, given)?.length;
  };
  const present = respite(300, 1);

  test.each([
    [
      "each respite in which others were heard for a quarter of it",
      [respite(10, 15), respite(50, 25), present],
      40_000,
    ],
    ["none in which they were heard for less", [respite(10, 30, 14.999), respite(50, 25), present], 25_000],
    ["not after the last heartbeat of another board", [respite(10, 60, 20), respite(100, 60, 30), present], 50_000],
    ["none in which most boards were not heard", [respite(10, 30, 0), respite(50, 25), present], 25_000],
    ["not the current respite", [respite(300, 100)], undefined],
    ["nothing while most boards are not heard after the last outage", [respite(10, 30), respite(300, 1, 0)], undefined],
    ["nothing before a pass has seen the last outage end", [respite(10, 30), respite(50, 25)], undefined],
    ["nothing without an outage", [], undefined],
  ] as const)("is %s", (_what, respites, length) => {
    expect(missed(respites)).toBe(length);
  });

  test("begins after its last sign of life", () => {
    const respites = [respite(10, 30), respite(50, 30), present];
    expect([9, 10, 49, 50].map((probe) => missed(respites, { probe }))).toEqual([60_000, 30_000, 30_000, undefined]);
  });
});

test("a link flaps once it has been live for no longer than a grace period four times in a row", () => {
  const since = (...lengths: readonly number[]) =>
    flappingSince(
      lengths.map((length, index) => respite(100 * index, length)),
      60_000,
    );
  expect(since()).toBe(undefined);
  expect(since(20, 20, 20)).toBe(undefined);
  expect(since(20, 20, 20, 60)).toEqual(at(0));
  expect(since(61, 20, 20, 20, 0)).toEqual(at(100));
  expect(since(20, 20, 20, 20, 61)).toBe(undefined);
});
