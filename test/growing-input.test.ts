import { expect, test } from "vitest";
import { quantity } from "../agent/api/quantity.ts";
import { parseFieldSelector, parseLabelSelector } from "../agent/api/selectors.ts";
import { parseDuration } from "../agent/base/duration.ts";
import { parseBytes } from "../agent/config/bytes.ts";
import { parseCron, parseWindows } from "../agent/config/cron.ts";
import { decodeBudget } from "../agent/controllers/node-lifecycle/budget.ts";
import { decodeHolds } from "../agent/runtime/holds.ts";
import { ruleFrom, ruleOffset } from "../agent/upkeep/zone-rule.ts";

/** No text that comes from outside holds the event loop, as long as an API server lets it become (256 KiB of annotations). */
const longest = 262_144;
const now = { mono: 0, wall: 0 };

const texts: Readonly<Record<string, string>> = {
  commas: ",".repeat(longest),
  spaces: " ".repeat(longest),
  digits: "9".repeat(longest),
  "a number of many digits": `1.${"0".repeat(longest)}1`,
  "open parentheses": "(".repeat(longest),
  "lists of values": "a in (b,c),".repeat(longest / 11),
  "labels without end": "a,".repeat(longest / 2),
  "escapes and commas": "\\,".repeat(longest / 2),
  "times without end": "1h".repeat(longest / 2),
  "a schedule of many fields": "0 ".repeat(longest / 2),
  "windows without end": `${"* * * * * for 1h;".repeat(longest / 17)}`,
  "names of a day": "MON,".repeat(longest / 4),
  "nested lists": "[".repeat(longest),
  "nested members": '{"v":'.repeat(longest / 5),
  "an object of many members": `{"v":1,${Array.from({ length: 20_000 }, (_, at) => `"k${at}":1`).join()}}`,
  "a number beyond all numbers": `{"v":1,"freezes":{"site":{"left":1${"0".repeat(100_000)}}}}`,
};

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  "a label selector": orRefused(parseLabelSelector),
  "a field selector": orRefused(parseFieldSelector),
  "a quantity": quantity,
  "a duration": parseDuration,
  "a size": parseBytes,
  "a schedule": parseCron,
  "quiet hours": parseWindows,
  "the rule of a time zone": ruleFrom,
  "the holds of a Lease": (text) => decodeHolds(text, now),
  "the allowances of a Lease": (text) => decodeBudget(text, now),
};

test.each(Object.keys(readers))("%s is read or refused at once, however long it is", (name) => {
  const read = readers[name];
  for (const [kind, text] of Object.entries(texts)) {
    expect(
      bestOf(3, () => read?.(text)),
      kind,
    ).toBeLessThan(50);
  }
});

test.each(["M13.1.0", "M0.1.0", "M3.0.0", "M3.6.0", "M3.1.7", "M3.1.0/x"])(
  "a zone whose summer begins on %s, a day that no year has, has no summer to look for",
  (day) => {
    const rule = ruleFrom(`CET-1CEST,${day},M10.5.0`);
    expect(rule).toBeUndefined();
  },
);

test.each(["0-99999999999 * * * *", "* * * * 1-55555555555555555555", "1-59/0000000000000000000001 * * * *"])(
  "the schedule %s, which a library would write out for ever, is none",
  (written) => {
    expect(parseCron(written)).toBeUndefined();
    expect(parseWindows(`${written} for 8h`)).toBeUndefined();
  },
);

test("the last day of a year has a summer to look for", () => {
  const rule = ruleFrom("CET-1CEST,M3.5.0,M10.5.0/3");
  expect(rule && ruleOffset(rule, Date.UTC(2026, 6, 1))).toBe(7_200_000);
});

function bestOf(runs: number, run: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at < runs && best > 10; at++) {
    const begun = performance.now();
    run();
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}

function orRefused(read: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      if (error instanceof Error && error.name === "SelectorError") return undefined;
      throw error;
    }
  };
}
