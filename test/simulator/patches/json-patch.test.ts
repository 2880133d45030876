import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../agent/api/json.ts";
import { applyJsonPatch } from "../../../simulator/patches/json-patch.ts";
import { PatchError } from "../../../simulator/patches/patch-error.ts";

test.each<[string, JsonValue, JsonValue[], JsonValue]>([
  ["adds a member", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
  ["replaces a member by adding it", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
  ["inserts into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
  ["appends to a list", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
  ["appends by the index after the last item", { a: [1] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2] }],
  [
    "removes",
    { a: 1, b: [1, 2] },
    [
      { op: "remove", path: "/b/0" },
      { op: "remove", path: "/a" },
    ],
    { b: [2] },
  ],
  ["replaces", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: null }], { a: { b: null } }],
  ["moves", { a: { x: 1 }, b: {} }, [{ op: "move", from: "/a/x", path: "/b/y" }], { a: {}, b: { y: 1 } }],
  ["copies", { a: { x: 1 } }, [{ op: "copy", from: "/a", path: "/b" }], { a: { x: 1 }, b: { x: 1 } }],
  [
    "continues after a successful test",
    { a: { x: [1] } },
    [{ op: "test", path: "/a", value: { x: [1] } }],
    { a: { x: [1] } },
  ],
  [
    "reads ~0 and ~1",
    { "a/b": 1, "c~d": 2 },
    [
      { op: "remove", path: "/a~1b" },
      { op: "remove", path: "/c~0d" },
    ],
    {},
  ],
  ["replaces the whole document", { a: 1 }, [{ op: "replace", path: "", value: { b: 1 } }], { b: 1 }],
])("%s", (_, target, patch, result) => {
  expect(applyJsonPatch(target, patch)).toEqual(result);
});

describe("a JSON patch is refused as a whole for", () => {
  const target = { a: 1, list: [1], deep: { x: 1 } };
  test.each<[string, JsonValue, PatchError["kind"]]>([
    ["an object in place of a list", { op: "add" }, "malformed"],
    ["an operation that is not an object", ["add"], "malformed"],
    ["an unknown operation", [{ op: "merge", path: "/a" }], "inapplicable"],
    ["no path", [{ op: "add", value: 1 }], "inapplicable"],
    ["a path that is not a pointer", [{ op: "add", path: "a", value: 1 }], "inapplicable"],
    ["no value", [{ op: "add", path: "/a" }], "inapplicable"],
    [
      "a test that fails, after an operation that worked",
      [
        { op: "add", path: "/b", value: 1 },
        { op: "test", path: "/a", value: 2 },
      ],
      "inapplicable",
    ],
    ["a removal of a missing member", [{ op: "remove", path: "/nothing" }], "inapplicable"],
    ["a replacement within a missing member", [{ op: "replace", path: "/nothing/deeper", value: 1 }], "inapplicable"],
    ["a missing parent", [{ op: "add", path: "/no/thing", value: 1 }], "inapplicable"],
    ["an index beyond the end", [{ op: "add", path: "/list/2", value: 1 }], "inapplicable"],
    ["an invalid index", [{ op: "remove", path: "/list/01" }], "inapplicable"],
    ["a removal after the last item", [{ op: "remove", path: "/list/-" }], "inapplicable"],
    ["a member of a number", [{ op: "add", path: "/a/b", value: 1 }], "inapplicable"],
    ["an inherited member", [{ op: "remove", path: "/constructor" }], "inapplicable"],
    ["a move into itself", [{ op: "move", from: "/deep", path: "/deep/x" }], "inapplicable"],
  ])("%s", (_, patch, kind) => {
    expect(() => applyJsonPatch(target, patch)).toThrow(expect.objectContaining({ name: "PatchError", kind }));
    expect(target).toEqual({ a: 1, list: [1], deep: { x: 1 } });
  });

  test("copies that double the document again and again", () => {
    const doubling = Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "", path: `/c${i}` }));
    expect(() => applyJsonPatch({ a: "x".repeat(1000) }, doubling)).toThrow(PatchError);
  });
});
