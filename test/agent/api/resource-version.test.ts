import { expect, test } from "vitest";
import { covers, earliestOf } from "../../../agent/api/resource-version.ts";

test.each([
  ["99", "100", false],
  ["100", "100", true],
  ["101", "100", true],
  ["9007199254740993", "9007199254740992", true],
  ["9007199254740992", "9007199254740993", false],
  [undefined, "100", false],
  ["b1", "a1", false],
  ["100", "a1", false],
  ["a1", "100", false],
  ["0200", "100", false],
  ["", "100", false],
])("a cache at %s holds what was written at %s: %s", (position, version, expected) => {
  expect(covers(position, version)).toBe(expected);
});

test.each([
  [["7", "10", "9"], "7"],
  [["10"], "10"],
  [[], undefined],
  [["7", undefined], undefined],
  [["7", "b1"], undefined],
])("the earliest of %j is %s", (positions, expected) => {
  expect(earliestOf(positions)).toBe(expected);
});
