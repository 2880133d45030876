import { expect, test } from "vitest";
import { wrap } from "../../../../agent/base/text/wrap.ts";

test("text is broken at spaces, and only when a line is full", () => {
  expect(wrap("one two three", 20)).toEqual(["one two three"]);
  expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
  expect(wrap("one two", 7)).toEqual(["one two"]);
});

test("a word longer than a line is split without losing a letter", () => {
  expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  expect(wrap("a bcdefghij", 4).join("")).toBe("abcdefghij");
});
