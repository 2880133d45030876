import { expect, test } from "vitest";
import { isSameMap, mapPatch, sharedMapPatch, without } from "../../../../agent/controllers/service/map-patch.ts";

test("a patch has new and changed keys, and null for removed ones", () => {
  expect(mapPatch({ a: "1", b: "2", c: "3" }, { a: "1", b: "4", d: "5" })).toEqual({ b: "4", c: null, d: "5" });
  expect(mapPatch(undefined, { a: "1" })).toEqual({ a: "1" });
  expect(mapPatch({ a: "1" }, { a: "1" })).toEqual({});
});

test("inherited properties are ignored", () => {
  expect(mapPatch({ constructor: "x" }, {})).toEqual({ constructor: null });
  expect(mapPatch({}, { toString: "x" })).toEqual({ toString: "x" });
});

test("a missing map and an empty one are the same", () => {
  expect(isSameMap(undefined, {})).toBe(true);
  expect(isSameMap({}, undefined)).toBe(true);
  expect(isSameMap({ a: "" }, {})).toBe(false);
  expect(without({ a: "1", b: "2" }, "a", "x")).toEqual({ b: "2" });
  expect(without(undefined, "a")).toEqual({});
});

test("objects that share their maps share the patch", () => {
  const patchOf = sharedMapPatch();
  const [before, after] = [{ a: "1" }, { b: "2" }];
  expect(patchOf(before, after)).toEqual({ a: null, b: "2" });
  expect(patchOf(before, after)).toBe(patchOf(before, after));
  expect(patchOf(undefined, after)).toEqual({ b: "2" });
  expect(patchOf(before, { ...before })).toEqual({});
});
