import { expect, test } from "vitest";
import { asRecord, memberOf, pointerStep, recordIn } from "../../../agent/base/json.ts";

test.each([
  ["an object is read", '{"a":1}', { a: 1 }],
  ["a list is none", "[1]", undefined],
  ["nor is null", "null", undefined],
  ["nor is a text that was cut off", '{"a":', undefined],
  ["nor is nothing", "", undefined],
])("%s", (_, text, expected) => {
  expect(recordIn(text)).toEqual(expected);
});

test("a text with just so many bytes is read, and one with a byte more is not", () => {
  const text = '{"a":"é"}';
  expect(recordIn(text, 10)).toEqual({ a: "é" });
  expect(recordIn(text, 9)).toBeUndefined();
});

test("what an object inherits is no member of it, and nothing else has any", () => {
  expect(memberOf({ a: 1 }, "a")).toBe(1);
  expect(memberOf({ a: 1 }, "constructor")).toBeUndefined();
  for (const other of [null, undefined, "a", ["a"]]) expect(memberOf(other, "0")).toBeUndefined();
});

test("what is no object counts as one without members", () => {
  expect(asRecord({ a: 1 })).toEqual({ a: 1 });
  for (const other of [null, undefined, 1, [1]]) expect(asRecord(other)).toEqual({});
});

test("a pointer's step tells a slash and a tilde of a name from its own", () => {
  expect(pointerStep("a/b~c")).toBe("/a~1b~0c");
});
