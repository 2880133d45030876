import { expect, test } from "vitest";
import { asRecord, jsonLength, jsonPointerToken, memberOf, recordIn } from "../../../agent/base/json.ts";

test.each([
  ["an object is read", '{"a":1}', { a: 1 }],
  ["a list is not an object", "[1]", undefined],
  ["null is not an object", "null", undefined],
  ["a truncated text is not an object", '{"a":', undefined],
  ["an empty text is not an object", "", undefined],
])("%s", (_, text, expected) => {
  expect(recordIn(text)).toEqual(expected);
});

test("a text of exactly the maximum size is read, and one byte more is refused", () => {
  const text = '{"a":"é"}';
  expect(recordIn(text, 10)).toEqual({ a: "é" });
  expect(recordIn(text, 9)).toBeUndefined();
});

test("a record may nest 64 levels, regardless of what its strings contain", () => {
  const nested = (levels: number): string =>
    `{"text":"[[{\\"[","a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  expect(recordIn(nested(64))).toBeDefined();
  expect(recordIn(nested(65))).toBeUndefined();
  expect(recordIn(nested(100_000))).toBeUndefined();
});

test("inherited properties are not members, and only objects have members", () => {
  expect(memberOf({ a: 1 }, "a")).toBe(1);
  expect(memberOf({ a: 1 }, "constructor")).toBeUndefined();
  for (const other of [null, undefined, "a", ["a"]]) expect(memberOf(other, "0")).toBeUndefined();
});

test("a value that is not an object counts as an empty object", () => {
  expect(asRecord({ a: 1 })).toEqual({ a: 1 });
  for (const other of [null, undefined, 1, [1]]) expect(asRecord(other)).toEqual({});
});

test("a step of a JSON pointer escapes slashes and tildes in names", () => {
  expect(jsonPointerToken("a/b~c")).toBe("/a~1b~0c");
});

test.each<unknown>([
  { metadata: { name: "web", labels: { app: "web" } }, spec: { ports: [{ name: "http", protocol: "TCP" }] } },
  { text: "x".repeat(1000), list: ["a", "b"] },
  [],
  {},
  "text",
])("the length of %j is that of its JSON, give or take a sign per value", (value) => {
  const exact = JSON.stringify(value).length;
  expect(Math.abs(jsonLength(value) - exact)).toBeLessThanOrEqual(exact / 8 + 1);
});

test("the search ends soon after the limit", () => {
  const list = Array.from({ length: 1_000_000 }, () => "x");
  expect(jsonLength({ list }, 1000)).toBeLessThan(1100);
  expect(jsonLength({ list: ["x".repeat(2000)] }, 1000)).toBeGreaterThan(1000);
});
