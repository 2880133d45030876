import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import {
  actsWithin,
  decodeValve,
  encodeValve,
  isUnknown,
  keptForTaints,
  newValve,
  nextEnd,
  roomAt,
  roomIn,
  roomInShare,
  type Valve,
  valveAtStart,
  withAct,
  withoutAct,
} from "../../../agent/holds/valve.ts";

const start: Instant = { mono: 10_000_000, wall: 0 };
const at = (minutes: number): Instant => shifted(start, minutes * 60_000);
const acted = (...minutes: readonly number[]): Valve =>
  minutes.reduce((valve, minute) => withAct(valve, at(minute)), newValve);

describe("the acts of the last hour", () => {
  test.each([
    ["none", [], 0, 0],
    ["one just now", [0], 0, 1],
    ["one an hour ago by a clock that may be slow", [0], 60, 1],
    ["one that no clock of the site can still count", [0], 62, 0],
    ["many in one minute", [0, 0.1, 0.2, 0.9], 1, 4],
    ["some of those spread over two hours", [0, 30, 59, 90, 119], 120, 3],
  ] as const)("%s", (_, minutes, now, count) => {
    expect(actsWithin(acted(...minutes), at(now))).toBe(count);
  });

  test("take no more entries than an hour has minutes, regardless of their number", () => {
    let valve = newValve;
    for (let second = 0; second < 8000; second++) valve = withAct(valve, at(second / 60));
    expect(valve.acts.length).toBeLessThan(64);
    expect(actsWithin(valve, at(8000 / 60))).toBeGreaterThanOrEqual(3600);
    expect(encodeValve(valve, at(8000 / 60)).length).toBeLessThan(1000);
  });

  test("include acts that were admitted and may follow at any moment", () => {
    expect(roomIn({ ...acted(0), admitted: 2 }, 4, at(1))).toBe(1);
  });

  test("lose an act that did not happen from the minute in which it was counted", () => {
    const valve = acted(0, 0.5, 5);
    expect(withoutAct(valve, at(0.7)).acts.map(({ count }) => count)).toEqual([1, 1]);
    expect(withoutAct(valve, at(5)).acts.map(({ count }) => count)).toEqual([2]);
    expect(withoutAct(valve, at(-1))).toEqual(valve);
  });
});

describe("a limit", () => {
  test.each([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 1],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])("of %d permits %d more acts after two", (limit, room) => {
    expect(roomIn(acted(0, 1), limit, at(2))).toBe(room);
  });

  test("permits an act again once the oldest acts no longer count", () => {
    const valve = acted(0, 10, 20);
    expect(roomAt(valve, 4, at(30))).toEqual(at(30));
    const opens = roomAt(valve, 3, at(30));
    expect(opens && opens.mono - at(0).mono).toBeGreaterThan(3_600_000);
    expect(opens && roomIn(valve, 3, opens)).toBe(1);
    expect(opens && roomIn(valve, 3, shifted(opens, -1))).toBe(0);
    const later = roomAt(valve, 2, at(30));
    expect(later && later.mono - (opens?.mono ?? 0)).toBe(600_000);
  });

  test("of 0 never permits an act, and one that is used up by acts under way opens when they end", () => {
    expect(roomAt(acted(0), 0, at(1))).toBeUndefined();
    expect(roomAt({ ...newValve, admitted: 2 }, 2, at(1))).toBeUndefined();
  });

  test("permits all while an operator has released it, even if the acts of the last hour are unknown", () => {
    const valve = { ...newValve, unknown: at(0) };
    expect(roomIn(valve, 3, at(1))).toBe(0);
    expect(roomIn(valve, Number.POSITIVE_INFINITY, at(1))).toBe(Number.POSITIVE_INFINITY);
  });

  test("permits nothing while the acts of the last hour are unknown", () => {
    const valve = { ...newValve, unknown: at(0) };
    expect(roomIn(valve, 10, at(61))).toBe(0);
    expect(roomIn(valve, 10, at(62))).toBe(10);
    expect(roomAt(valve, 10, at(1))?.mono).toBeGreaterThan(at(60).mono);
  });
});

describe("a share", () => {
  test.each([
    [0, 0],
    [4, 0],
    [5, 1],
    [10, 2],
    [14, 2],
    [100, 20],
    [Number.POSITIVE_INFINITY, 0],
  ])("of a limit of %d, %d acts are kept for taints", (limit, kept) => {
    expect(keptForTaints(limit)).toBe(kept);
  });

  test.each([
    [0, 0, 0.5, 0],
    [1, 0, 0.5, 1],
    [7, 0, 0.5, 4],
    [3, 4, 0.5, 0],
    [4, 3, 0.5, 1],
    [7, 0, 0.8, 6],
    [7, 0, 0.99, 6],
    [1, 6, 0.99, 0],
    [1, 0, 0.99, 1],
    [7, 0, 1, 7],
    [2, 5, 1, 2],
    [1, 9, 0.5, 0],
    [Number.POSITIVE_INFINITY, 9, 0.5, Number.POSITIVE_INFINITY],
  ])(
    "with %d acts left for pods, a namespace that has used %d and may use the part %d of them gets %d",
    (open, used, share, room) => {
      expect(roomInShare(open, { used, share })).toBe(room);
    },
  );

  test("changes when the oldest act no longer counts", () => {
    const end = nextEnd(acted(0, 10), at(20));
    expect(end && actsWithin(acted(0, 10), end)).toBe(1);
    expect(end && actsWithin(acted(0, 10), shifted(end, -1))).toBe(2);
    expect(nextEnd(acted(0), at(62))).toBeUndefined();
  });
});

describe("the annotation on the Lease", () => {
  const elsewhere: Instant = { mono: 5000, wall: 0 };

  test("holds ages, so it is valid on any clock, and no act counts for too short a time", () => {
    const read = decodeValve(encodeValve(acted(0, 10.9), at(30.5)), elsewhere);
    expect(read?.acts.map(({ at, count }) => [elsewhere.mono - at.mono, count])).toEqual([
      [30.5 * 60_000, 1],
      [19.6 * 60_000, 1],
    ]);
  });

  test("is the same while nothing happens", () => {
    const calm = { ...newValve, total: 7 };
    expect(encodeValve(calm, at(0))).toBe('{"v":1,"total":7,"acts":[]}');
    expect(encodeValve(calm, at(500))).toBe(encodeValve(calm, at(0)));
  });

  test("counts acts that its writer had admitted as done", () => {
    const read = decodeValve(encodeValve({ ...acted(0), admitted: 3 }, at(1)), elsewhere);
    expect(read && actsWithin(read, elsewhere)).toBe(4);
    expect(read?.admitted).toBe(0);
  });

  test("can be read by the next leader, regardless of the number of acts that it claims", () => {
    const most = decodeValve('{"v":1,"total":1,"acts":[[0,1000000000]]}', elsewhere);
    const next = decodeValve(encodeValve(withAct(most ?? newValve, elsewhere), elsewhere), elsewhere);
    expect(next && actsWithin(next, elsewhere)).toBe(1_000_000_000);
    expect(next && actsWithin(next, shifted(elsewhere, 62 * 60_000))).toBe(0);
  });

  test("keeps the fields of a newer program, and the mark that the acts are unknown", () => {
    const text = JSON.stringify({ v: 1, total: 2, acts: [[3, 2]], unknown: 5, drills: [1] });
    const read = decodeValve(text, elsewhere);
    const exact = { total: 2, ages: [180], unknown: 300 };
    expect(JSON.parse(encodeValve(read ?? newValve, elsewhere))).toEqual({ ...JSON.parse(text), exact });
  });

  test.each([7, 11, 59])("lets acts and what is unknown grow old even if each term lasts only %d s", (length) => {
    let valve: Valve = { ...acted(0, 0.1), unknown: at(0) };
    let now = at(0.1);
    for (let term = 0; term * length < 62 * 60; term++) {
      now = shifted(now, length * 1000);
      valve = decodeValve(encodeValve(valve, now), now) ?? newValve;
    }
    expect([actsWithin(valve, now), isUnknown(valve, now)]).toEqual([0, false]);
  });

  test("never lets an act count for too short a time, however often it is passed on", () => {
    let valve = acted(0);
    let now = at(0);
    for (let term = 0; term < 1000 && actsWithin(valve, now) > 0; term++) {
      now = shifted(now, 7777);
      valve = decodeValve(encodeValve(valve, now), now) ?? newValve;
    }
    expect(now.mono - at(0).mono).toBeGreaterThan(3_600_000);
  });

  test("has ages in minutes for older programs, and is read without the exact ones", () => {
    const { exact: _, ...older } = JSON.parse(encodeValve(acted(0, 10.9), at(30.5)));
    expect(older).toEqual({
      v: 1,
      total: 0,
      acts: [
        [30, 1],
        [19, 1],
      ],
    });
    const read = decodeValve(JSON.stringify(older), elsewhere);
    expect(read?.acts.map(({ at }) => elsewhere.mono - at.mono)).toEqual([30 * 60_000, 19 * 60_000]);
  });

  test.each([
    ["that an older program passed on for a while", { total: 7, ages: [150, 45] }],
    ["from before further acts", { total: 6, ages: [239, 119] }],
    ["of fewer acts", { total: 7, ages: [239] }],
    ["that are no ages", { total: 7, ages: [-1, "119"] }],
    ["that are no record", 239],
  ])("ignores exact ages %s", (_, exact) => {
    const acts = [
      [3, 1],
      [1, 1],
    ];
    const read = decodeValve(JSON.stringify({ v: 1, total: 7, acts, exact }), elsewhere);
    expect(read?.acts.map(({ at }) => elsewhere.mono - at.mono)).toEqual([180_000, 60_000]);
    expect(read?.foreign).toEqual({});
  });

  test("has room for the acts of an hour with many terms", () => {
    const acts = Array.from({ length: 360 }, (_, index) => ({ at: at(index / 6), count: 1_000_000 }));
    const text = encodeValve({ ...newValve, acts }, at(60));
    expect(text.length).toBeLessThan(2048);
    const read = decodeValve(text, at(60));
    expect(read && actsWithin(read, at(60))).toBe(360_000_000);
    for (const later of [65, 80, 100])
      expect(read && actsWithin(read, at(later))).toBeGreaterThanOrEqual(actsWithin({ ...newValve, acts }, at(later)));
  });

  test("omits the fields of a newer program if there would be no room for the acts", () => {
    const acts = Array.from({ length: 62 }, (_, age) => [age, 1_000_000]);
    const text = JSON.stringify({ v: 1, total: 2, acts: acts.slice(0, 1), drills: "x".repeat(3900) });
    const read = decodeValve(text, elsewhere);
    const full = {
      ...newValve,
      ...read,
      acts: acts.map(([age = 0]) => ({ at: shifted(elsewhere, -age * 60_000), count: 7 })),
    };
    expect(actsWithin(decodeValve(encodeValve(full, elsewhere), elsewhere) ?? newValve, elsewhere)).toBe(62 * 7);
    expect(encodeValve(read ?? newValve, elsewhere)).toContain("drills");
  });

  test.each([
    undefined,
    "",
    "{",
    "[]",
    '{"v":2,"total":0,"acts":[]}',
    '{"v":1,"acts":[]}',
    '{"v":1,"total":-1,"acts":[]}',
    '{"v":1,"total":0}',
    '{"v":1,"total":0,"acts":[[1]]}',
    '{"v":1,"total":0,"acts":[[1,-1]]}',
    '{"v":1,"total":0,"acts":[[1.5,1]]}',
    '{"v":1,"total":0,"acts":[[1,"1"]]}',
    '{"v":1,"total":0,"acts":[[1,1e300]]}',
    '{"v":1,"total":0,"acts":[],"admitted":"many"}',
    '{"v":1,"total":0,"acts":[],"unknown":-1}',
    JSON.stringify({ v: 1, total: 0, acts: Array.from({ length: 101 }, (_, index) => [index, 1]) }),
    JSON.stringify({ v: 1, total: 0, acts: [], more: "x".repeat(5000) }),
  ])("that is invalid counts as missing, not as empty: %.60s", (text) => {
    expect(decodeValve(text, elsewhere)).toBeUndefined();
  });
});

describe("a term begins", () => {
  const found = { ...acted(0), total: 5 };
  const own = { valve: { ...acted(0, 1, 2), total: 7 }, lease: "lease-1", at: at(2) };
  const nothing = { found: undefined, own: undefined, lease: "lease-1", isFirst: false, isRestored: false };

  test("with the annotation", () => {
    expect(valveAtStart({ ...nothing, found }, at(3))).toBe(found);
    expect(valveAtStart({ ...nothing, found, own: { ...own, valve: { ...found, total: 5 } } }, at(3))).toBe(found);
  });

  test("with both copies if this board's own one counts more acts of the same Lease, which was restored", () => {
    const both = valveAtStart({ ...nothing, found, own }, at(300));
    expect(both.acts.map(({ at }) => at)).toEqual([at(0), at(0), at(1), at(2)]);
    expect(both.total).toBe(7);
    expect(valveAtStart({ ...nothing, found, own: { ...own, lease: "another" } }, at(3))).toBe(found);
  });

  test("with this board's own copy if the Lease has none, or was deleted, and the copy is recent", () => {
    expect(valveAtStart({ ...nothing, own }, at(4.9))).toBe(own.valve);
    expect(valveAtStart({ ...nothing, own, lease: "lease-2" }, at(3))).toBe(own.valve);
  });

  test("after a restore with this board's own copy if that is recent, and otherwise with unknown acts", () => {
    const restored = { ...nothing, found, isRestored: true };
    expect(actsWithin(valveAtStart({ ...restored, own }, at(3)), at(3))).toBe(4);
    expect(isUnknown(valveAtStart({ ...restored, own }, at(3)), at(3))).toBe(false);
    expect(valveAtStart({ ...restored, own: { ...own, valve: { ...own.valve, total: 5 } } }, at(3))).toBe(found);
    expect(isUnknown(valveAtStart({ ...restored, own }, at(13)), at(13))).toBe(true);
    expect(valveAtStart(restored, at(3))).toEqual({ ...found, unknown: at(3) });
  });

  test("with unknown acts if the copy is old or there is none, and without any on a new site", () => {
    expect(valveAtStart({ ...nothing, own }, at(5.1))).toEqual({ ...own.valve, unknown: at(5.1) });
    expect(valveAtStart(nothing, at(3))).toEqual({ ...newValve, unknown: at(3) });
    expect(valveAtStart({ ...nothing, isFirst: true }, at(3))).toEqual(newValve);
    // The number of the term says that the site is new, this board's memory that it is not.
    expect(valveAtStart({ ...nothing, own, isFirst: true }, at(60))).toMatchObject({ unknown: at(60) });
  });
});
