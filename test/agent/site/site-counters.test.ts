import { describe, expect, test } from "vitest";
import {
  decodeCounters,
  encodeCounters,
  highestOf,
  maxKeys,
  mergeCounters,
  noCounters,
  raiseCounter,
  type SiteCounters,
} from "../../../agent/site/site-counters.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const key = (number: number): string => `key${String(number).padStart(13, "0")}-and-the-rest-of-its-fingerprint`;
const counters = (entries: Readonly<Record<number, number>>): SiteCounters =>
  Object.entries(entries).reduce((all, [name, counter]) => raiseCounter(all, key(Number(name)), counter), noCounters);

describe("the counters of a site's keys", () => {
  test("are restored from the text on the Lease, which is short", () => {
    const all = counters({ 1: 4021, 2: 0, 3: Number.MAX_SAFE_INTEGER });
    expect(encodeCounters(all)).toBe("key0000000000001=4021 key0000000000002=0 key0000000000003=9007199254740991");
    expect(decodeCounters(encodeCounters(all))).toEqual(all);
    expect(encodeCounters(noCounters)).toBe("");
  });

  test("include the highest counter used for each key, and none for an unused key", () => {
    const all = raiseCounter(counters({ 1: 7 }), key(1), 5);
    expect([highestOf(all, key(1)), highestOf(all, key(2))]).toEqual([7, undefined]);
    expect(highestOf(raiseCounter(all, key(1), 8), key(1))).toBe(8);
  });

  test("become equal on two boards that exchange them, in any order, and none is lost", () => {
    const random = new SeededRandom(41);
    const some = (): SiteCounters => {
      let all = noCounters;
      // More keys than there is room for, so that floors meet as well.
      for (let n = random.integer(120); n > 0; n--)
        all = raiseCounter(all, key(random.integer(150)), random.integer(1000));
      return all;
    };
    for (let round = 0; round < 300; round++) {
      const [a, b, c] = [some(), some(), some()];
      const both = mergeCounters(a, b);
      expect(encodeCounters(both)).toBe(encodeCounters(mergeCounters(b, a)));
      expect(encodeCounters(mergeCounters(both, c))).toBe(encodeCounters(mergeCounters(a, mergeCounters(b, c))));
      expect(encodeCounters(mergeCounters(both, both))).toBe(encodeCounters(both));
      expect(encodeCounters(mergeCounters(both, a))).toBe(encodeCounters(both));
      for (let number = 0; number < 150; number++) {
        const known = [a, b].map((one) => highestOf(one, key(number)) ?? -1);
        expect(highestOf(both, key(number)) ?? -1).toBeGreaterThanOrEqual(Math.max(...known));
      }
    }
  });

  test("do not accept a used counter again if there are more keys than room, and each key continues", () => {
    let all = noCounters;
    const used = new Map<number, number>();
    const random = new SeededRandom(7);
    for (let round = 0; round < 2000; round++) {
      const number = random.integer(3 * maxKeys);
      const highest = highestOf(all, key(number)) ?? -1;
      expect(highest).toBeGreaterThanOrEqual(used.get(number) ?? -1);
      all = decodeCounters(encodeCounters(raiseCounter(all, key(number), highest + 1)));
      used.set(number, highest + 1);
      expect(all.keys.size).toBeLessThanOrEqual(maxKeys);
      expect(encodeCounters(all).length).toBeLessThan(4096);
    }
  });

  test("of keys that were dropped become one, the highest", () => {
    const many = Object.fromEntries(Array.from({ length: maxKeys + 2 }, (_, number) => [number, 100 + number]));
    const all = counters(many);
    expect(all.floor).toBe(101);
    expect([0, 1, 2].map((number) => highestOf(all, key(number)))).toEqual([101, 101, 102]);
    expect(highestOf(all, key(999))).toBe(101);
  });

  test.each([
    ["nothing", ""],
    ["spaces", "   "],
    ["another language", '{"v":1,"keys":{"a":1}}'],
    [
      "negative, malformed and endless numbers",
      "key0000000000001=-1 key0000000000001=1.5 key0000000000001=1e9 *=-3 *=",
    ],
    ["numbers that no counter can have", "key0000000000001=9007199254740993 *=99999999999999999"],
    ["invalid names", "__proto__=7 constructor=7 toString=7 =7 short=7 key00000000000012=7"],
    ["other spaces", "key0000000000001=7\nkey0000000000002=7\t*=7"],
  ])("are empty on a Lease that holds %s", (_what, text) => {
    expect(decodeCounters(text)).toEqual(noCounters);
  });

  test("are read between garbage, and only the highest of several counts", () => {
    const found = decodeCounters("garbage key0000000000001=7 \u0000=3 key0000000000001=5 key0000000000002=x *=2");
    expect(encodeCounters(found)).toBe("*=2 key0000000000001=7");
  });

  test("are read quickly from a text of any length, but only up to the maximum length of our own text", () => {
    const begun = performance.now();
    for (const part of ["a", " ", "=", "*=1 ", "key0000000000001=7 ", `${"9".repeat(50)} `])
      expect(decodeCounters(part.repeat(260_000 / part.length)).keys.size).toBeLessThan(2);
    expect(performance.now() - begun).toBeLessThan(1000);
  });

  test.each([
    ["a full list of invented keys", maxKeys, 4022],
    ["more invented keys than there is room for", maxKeys + 20, undefined],
  ])("can be used up, but never freed, by writing %s onto the Lease", (_what, length, next) => {
    const junk = Array.from({ length }, (_, number) => `junk${String(number).padStart(12, "0")}=9007199254740991`);
    const all = mergeCounters(counters({ 1: 4021 }), decodeCounters(junk.join(" ")));
    expect(highestOf(all, key(1))).toBe(next === undefined ? Number.MAX_SAFE_INTEGER : 4021);
    if (next !== undefined) expect(highestOf(raiseCounter(all, key(1), next), key(1))).toBe(next);
  });
});
