import { expect, test } from "vitest";
import { isSameMap, mapPatch, without } from "../../../../agent/controllers/service/map-patch.ts";

test("a patch says what is new or another, and takes away what is to go", () => {
  expect(mapPatch({ a: "1", b: "2", c: "3" }, { a: "1", b: "4", d: "5" })).toEqual({ b: "4", c: null, d: "5" });
  expect(mapPatch(undefined, { a: "1" })).toEqual({ a: "1" });
  expect(mapPatch({ a: "1" }, { a: "1" })).toEqual({});
});

test("what every object inherits is no member", () => {
  expect(mapPatch({ constructor: "x" }, {})).toEqual({ constructor: null });
  expect(mapPatch({}, { toString: "x" })).toEqual({ toString: "x" });
});

test("no map and an empty one are the same", () => {
  expect(isSameMap(undefined, {})).toBe(true);
  expect(isSameMap({}, undefined)).toBe(true);
  expect(isSameMap({ a: "" }, {})).toBe(false);
  expect(without({ a: "1", b: "2" }, "a", "x")).toEqual({ b: "2" });
  expect(without(undefined, "a")).toEqual({});
});
