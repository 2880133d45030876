import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import type { Link } from "../../../agent/judgement/link.ts";
import {
  flappingSince,
  missedSince,
  nextRespites,
  type Respite,
  respiteSince,
  shortenedGrace,
} from "../../../agent/judgement/respites.ts";

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
    since: number,
    now: number,
    { heard = now, live = true }: { readonly heard?: number | null; readonly live?: boolean } = {},
  ): readonly Respite[] => {
    const heardAt = heard === null ? undefined : at(heard);
    return nextRespites(before, { since: at(since), live, heardAt }, at(now));
  };

  test.each([
    ["the end of the last outage", 60, 20, 60],
    ["that of the term, if no outage has ended since: what it stood by for does not count", 60, 75, 75],
    ["that of the term without any outage", undefined, 75, 75],
  ] as const)("begin with %s", (_what, restored, judges, since) => {
    expect(respiteSince(linkSince(restored), at(judges))).toEqual(at(since));
  });

  test("last until the last pass that found the link live", () => {
    const before = later([], 60, 65);
    expect(before).toEqual([respite(60, 5)]);
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
    ["nothing before the first pass", [], undefined],
    [
      "what it missed in earlier terms, although the last one began without an outage",
      [respite(10, 30), respite(320, 5)],
      30_000,
    ],
  ] as const)("is %s", (_what, respites, length) => {
    expect(missed(respites)).toBe(length);
  });

  test("begins after its last sign of life", () => {
    const respites = [respite(10, 30), respite(50, 30), present];
    expect([9, 10, 49, 50].map((probe) => missed(respites, { probe }))).toEqual([60_000, 30_000, 30_000, undefined]);
  });
});

test.each([
  ["a quarter of a grace period", 60, 15],
  ["longer than a kubelet's interval of 10 s where that is shorter", 40, 12.5],
  ["longer than that with a grace period of 17 s, too", 17, 12.5],
  ["a whole grace period that is shorter still", 10, 10],
])("a board that has missed enough has %s", (_what, gracePeriod, share) => {
  expect(shortenedGrace(gracePeriod * 1000)).toBe(share * 1000);
});

test("with a short grace period, no respite counts in which a kubelet need not renew its Lease", () => {
  const missed = (gracePeriod: number, heard: number): number | undefined =>
    missedSince(at(0), [respite(10, 30, heard), respite(300, 1)], { link: linkSince(300), gracePeriod })?.length;
  expect([10_000, 17_000, 40_000].map((grace) => missed(grace, 12.4))).toEqual([undefined, undefined, undefined]);
  expect([10_000, 17_000, 40_000].map((grace) => missed(grace, 12.5))).toEqual([12_500, 12_500, 12_500]);
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
