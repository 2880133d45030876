import { expect, test } from "vitest";
import { quantity } from "../../../agent/api/quantity.ts";

const one = 10n ** 9n;

test.each<[unknown, bigint]>([
  ["1", one],
  ["250m", one / 4n],
  ["0.1", one / 10n],
  [".5", one / 2n],
  ["5.", 5n * one],
  ["100u", 100_000n],
  ["7n", 7n],
  ["1k", 1000n * one],
  ["1.5G", 1_500_000_000n * one],
  ["1Ki", 1024n * one],
  ["1.5Gi", 1_610_612_736n * one],
  ["16Ei", 2n ** 64n * one],
  ["1e3", 1000n * one],
  ["12E2", 1200n * one],
  ["12E", 12n * 10n ** 18n * one],
  ["1e-3", one / 1000n],
  ["-2", -2n * one],
  ["+2", 2n * one],
  [4, 4n * one],
  ["0.0000000001", 1n],
])("%s is parsed exactly", (written, expected) => {
  expect(quantity(written)).toBe(expected);
});

test.each([undefined, null, "", ".", "m", "1Kb", "1 Gi", "1e", "0x10", "1.2.3", {}, "1e999", "9".repeat(30)])(
  "%j is not a quantity",
  (written) => {
    expect(quantity(written)).toBeUndefined();
  },
);
