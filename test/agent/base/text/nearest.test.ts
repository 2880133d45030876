import { expect, test } from "vitest";
import { nearest } from "../../../../agent/base/text/nearest.ts";

const words = ["status", "config", "gracePeriod", "up"];

test.each([
  ["a letter left out", "staus", "status"],
  ["a letter too many", "statuss", "status"],
  ["two letters swapped", "sttaus", "status"],
  ["another case", "GRACEPERIOD", "gracePeriod"],
  ["two slips in a long word", "gracePeroid", "gracePeriod"],
  ["the word itself", "config", "config"],
])("%s is recognised", (_, typed, meant) => {
  expect(nearest(typed, words)).toBe(meant);
});

test.each(["", "xyz", "grape", "s".repeat(5000)])(
  "suggests nothing for text that resembles no word: %.10s",
  (typed) => {
    expect(nearest(typed, ["status", "gracePeriod"])).toBeUndefined();
  },
);
