import { expect, test } from "vitest";
import type { JsonValue } from "../../../agent/api/json.ts";
import { applyMergePatch } from "../../../simulator/patches/merge-patch.ts";

// The cases of RFC 7386, appendix A.
test.each<[JsonValue, JsonValue, JsonValue]>([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])("%j patched with %j is %j", (target, patch, result) => {
  expect(applyMergePatch(target, patch)).toEqual(result);
});

test("the target remains unchanged, even if it is frozen", () => {
  const target = Object.freeze({ a: Object.freeze({ b: 1 }) });
  expect(applyMergePatch(target, { a: { c: 2 } })).toEqual({ a: { b: 1, c: 2 } });
  expect(target).toEqual({ a: { b: 1 } });
});

test("a field named __proto__ is a field like any other", () => {
  const patched = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
  expect(Object.hasOwn(patched as object, "__proto__")).toBe(true);
  expect("polluted" in {}).toBe(false);
  expect(Object.getPrototypeOf(patched)).toBe(Object.prototype);
});
