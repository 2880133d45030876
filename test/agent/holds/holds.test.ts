import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import {
  confirmedBy,
  decodeHolds,
  digestOfSign,
  encodeHolds,
  type Freeze,
  fits,
  freezeKey,
  freezeOn,
  type HoldScope,
  type Holds,
  nextEnd,
  noHolds,
  prune,
  slowAfter,
} from "../../../agent/holds/holds.ts";

const start: Instant = { mono: 1_000_000, wall: Date.parse("2026-01-01T00:00:00Z") };
const at = (seconds: number): Instant => shifted(start, seconds * 1000);

const frozen = (scope: HoldScope, end: number, slow = 600): Freeze => ({
  ...scope,
  end: at(end),
  slowEnd: at(end + slow),
  by: "ops:alice",
  reason: "radio maintenance",
  foreign: {},
});

const holding = (...freezes: readonly Freeze[]): Holds => ({
  ...noHolds,
  freezes: new Map(freezes.map((freeze) => [freezeKey(freeze), freeze])),
});

const pi3 = { board: "pi-3", zone: "east/plant7" };

describe("a freeze", () => {
  test.each<[HoldScope, boolean, boolean]>([
    [{ scope: "site" }, true, true],
    [{ scope: "zone", target: "east/plant7" }, true, true],
    [{ scope: "zone", target: "east/plant8" }, false, true],
    [{ scope: "board", target: "pi-3" }, true, true],
    [{ scope: "board", target: "pi-4" }, false, false],
  ])("of %o covers pi-3: %s; if its zone is unknown: %s", (scope, known, unknown) => {
    const holds = holding(frozen(scope, 60));
    expect(freezeOn(holds, pi3, start) !== undefined).toBe(known);
    expect(freezeOn(holds, { board: "pi-3", zone: undefined }, start) !== undefined).toBe(unknown);
  });

  test("lasts up to its end, and then evictions go slowly up to the end of the window", () => {
    const holds = holding(frozen({ scope: "site" }, 60, 600));
    expect([59, 60].map((now) => freezeOn(holds, pi3, at(now)) !== undefined)).toEqual([true, false]);
    expect([59, 60, 659, 660].map((now) => slowAfter(holds, "any", at(now)) !== undefined)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(prune(holds, at(659)).freezes.size).toBe(1);
    expect(prune(holds, at(660)).freezes.size).toBe(0);
  });

  test("of one board does not slow evictions after it has ended", () => {
    expect(slowAfter(holding(frozen({ scope: "board", target: "pi-3" }, 60)), "east/plant7", at(61))).toBeUndefined();
  });

  test("that ends later counts if several cover a board", () => {
    const holds = holding(frozen({ scope: "site" }, 60), frozen({ scope: "zone", target: "east/plant7" }, 90));
    expect(freezeOn(holds, pi3, start)?.scope).toBe("zone");
    expect(nextEnd(holds, start)).toEqual(at(60));
    expect(nextEnd(holds, at(60))).toEqual(at(90));
  });
});

describe("the holds that a leader leaves to the next one", () => {
  const [pi7Fell, pi8Fell] = [digestOfSign(["pi-7", "1234"]), digestOfSign(["pi-8", "1234"])];
  const all: Holds = {
    freezes: new Map([
      ["site", frozen({ scope: "site" }, 3600)],
      ["zone/east/plant7", frozen({ scope: "zone", target: "east/plant7" }, 10, 600)],
    ]),
    pauses: new Map([["pod-gc", { end: at(120), by: "ops:bob", reason: undefined, foreign: { ticket: 7 } }]]),
    confirmed: new Map([
      [
        "east/plant8",
        { end: at(60), by: "ops:bob", reason: "burnt down", foreign: {}, lastSigns: new Set([pi7Fell, pi8Fell]) },
      ],
    ]),
    release: { end: at(30), by: "ops:bob", reason: "burnt down", foreign: {} },
    changes: 4,
    foreign: { drills: [1] },
  };

  test("are written as remaining times, which are valid on any clock, even one that begins in 1970", () => {
    const text = encodeHolds(all, at(0));
    const elsewhere: Instant = { mono: 5000, wall: 0 };
    const read = decodeHolds(text, elsewhere);
    expect(read?.freezes.get("site")?.end.mono).toBe(5000 + 3_600_000);
    expect(read?.freezes.get("site")?.slowEnd.mono).toBe(5000 + 4_200_000);
    expect(read?.freezes.get("zone/east/plant7")).toMatchObject({ scope: "zone", target: "east/plant7" });
    expect(read?.pauses.get("pod-gc")).toMatchObject({ by: "ops:bob", end: { mono: 125_000 } });
    const by = (zone: string, sign: string) => confirmedBy(read ?? noHolds, zone, () => sign, elsewhere);
    expect(by("east/plant8", pi7Fell)).toBe("ops:bob");
    expect(by("east/plant8", pi8Fell)).toBe("ops:bob");
    expect(by("east/plant8", digestOfSign(["pi-8", "1235"]))).toBeUndefined();
    expect(by("east/plant7", pi7Fell)).toBeUndefined();
  });

  test("are read back unchanged, with members added by a newer program", () => {
    const read = decodeHolds(encodeHolds(all, at(0)), at(0));
    expect(read).toEqual(all);
    expect(encodeHolds(read ?? noHolds, at(0))).toBe(encodeHolds(all, at(0)));
  });

  test("do not include a confirmation that does not say which boards were silent", () => {
    const entry = { left: 60, by: "ops:bob" };
    const signsOf = (confirmed: object) =>
      [...(decodeHolds(JSON.stringify({ v: 1, confirmed }), at(0))?.confirmed ?? [])].map(([zone, { lastSigns }]) => [
        zone,
        ...lastSigns,
      ]);
    expect(signsOf({ old: entry, wrong: { ...entry, lastSigns: 7 } })).toEqual([]);
    expect(signsOf({ cut: { ...entry, lastSigns: "aaaaaabbbbbbcc" } })).toEqual([["cut", "aaaaaa", "bbbbbb"]]);
  });

  test("have room for the confirmation of a zone of 5000 boards", () => {
    const lastSigns = new Set(Array.from({ length: 5000 }, (_, board) => digestOfSign([`pi-${board}`])));
    expect(lastSigns.size).toBe(5000);
    const hold = { end: at(60), by: "ops:bob", reason: "x".repeat(256), foreign: {}, lastSigns };
    const holds = { ...noHolds, confirmed: new Map([["a", hold]]) };
    expect(fits(holds, at(0))).toBe(true);
    expect(decodeHolds(encodeHolds(holds, at(0)), at(0))?.confirmed.get("a")?.lastSigns).toEqual(lastSigns);
  });

  test.each(["9", -1, 1.5, 1e300, null, [2]])("have not changed if the count reads %j", (changes) => {
    expect(decodeHolds(JSON.stringify({ v: 1, changes }), at(0))?.changes).toBe(0);
  });

  test("are never shorter than ordered, regardless of when they are read", () => {
    for (const passed of [0, 0.4, 9.9, 10, 11, 60.3]) {
      const text = encodeHolds(all, at(passed));
      const read = decodeHolds(text, at(passed));
      expect(read?.freezes.get("site")?.end.mono).toBeGreaterThanOrEqual(at(3600).mono);
      expect(read?.freezes.get("zone/east/plant7")?.slowEnd.mono).toBeGreaterThanOrEqual(at(610).mono);
    }
  });

  test("continue with the slow window of a freeze that has ended", () => {
    const read = decodeHolds(encodeHolds(all, at(110)), at(110)) ?? noHolds;
    expect(freezeOn(read, { ...pi3, board: "x" }, at(110))?.scope).toBe("site");
    expect(read.freezes.get("zone/east/plant7")?.slowEnd).toEqual(at(610));
  });
});

describe("a text that another program wrote", () => {
  test.each([
    undefined,
    "",
    "{",
    "[]",
    "null",
    '"x"',
    "{}",
    '{"v":2,"freezes":{"site":{"left":60}}}',
    " ".repeat(70_000),
  ])("is invalid: %s", (text) => {
    expect(decodeHolds(text, start)).toBeUndefined();
  });

  test("is read as far as it is valid", () => {
    const freezes = {
      site: { left: 60 },
      "zone/": { left: 60 },
      "rack/7": { left: 60 },
      "zone/a": { left: -1 },
      "zone/b": { left: "60" },
      "zone/c": 60,
      "zone/d": { left: 1e300, slow: "x", by: 7, reason: "r".repeat(5000) },
      __proto__: { left: 60 },
    };
    const pauses = { "pod-gc": null, "node-taints": { left: 1, by: "b".repeat(500) } };
    const read = decodeHolds(JSON.stringify({ v: 1, freezes, pauses, confirmed: [] }), start);
    expect([...(read?.freezes.keys() ?? [])]).toEqual(["site", "zone/d"]);
    expect([...(read?.pauses.keys() ?? [])]).toEqual(["node-taints"]);
    expect(read?.freezes.get("site")).toMatchObject({ by: "unknown", slowEnd: at(60) });
    // A week is the longest that anything is believed.
    expect(read?.freezes.get("zone/d")).toMatchObject({ by: "unknown", end: at(7 * 86_400), slowEnd: at(7 * 86_400) });
    expect(read?.freezes.get("zone/d")?.reason).toHaveLength(256);
    expect(read?.pauses.get("node-taints")?.by).toHaveLength(128);
  });

  test("with more entries than allowed costs no more memory than the limit", () => {
    const pauses = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, { left: 1 }]));
    expect(decodeHolds(JSON.stringify({ v: 1, pauses }), start)?.pauses.size).toBe(100);
  });
});
