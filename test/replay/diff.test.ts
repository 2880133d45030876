import { expect, test } from "vitest";
import { terminalText } from "../../agent/base/text/terminal-text.ts";
import { type Difference, differences, printDifferences } from "./diff.ts";
import { canonical } from "./outcome.ts";

const printed = (found: readonly Difference[]): string => terminalText(printDifferences(found), false);

const outcome = {
  state: "Normal",
  qps: 0.1,
  empty: [],
  taints: [
    { atMs: 0, node: "a" },
    { atMs: 10_040, node: "b" },
  ],
  zones: new Map([["", { waiting: new Set(["a", "b"]), gone: undefined }]]),
};

const paths = (expected: object): readonly string[] => differences(expected, outcome).map(({ path }) => path);

test.each<[object, readonly string[]]>([
  [{}, []],
  [{ state: "Normal", qps: 0.1 }, []],
  [{ state: "normal" }, ["state"]],
  [{ stat: "Normal" }, ["stat"]],
  // Null matches a missing value; a present one is not null.
  [{ zones: { "": { gone: null } }, nothing: null }, []],
  [{ qps: null }, ["qps"]],
  // Lists must match completely, but their items only in the expected members.
  [{ taints: [{ node: "a" }, { node: "b" }] }, []],
  [{ taints: [{ node: "b" }, { node: "a" }] }, ["taints[0].node", "taints[1].node"]],
  [{ taints: [{ node: "a" }] }, ["taints"]],
  [{ empty: [] }, []],
  [{ empty: {} }, ["empty"]],
  [{ zones: { "": { waiting: ["a", "b"] } } }, []],
  [{ zones: { "": { waiting: ["a"] } } }, ['zones[""].waiting']],
])("the expectation %j differs from the outcome at %j", (expected, wrong) => {
  expect(paths(expected)).toEqual(wrong);
});

test.each<[object, boolean]>([
  [{ about: 10_000, within: 40 }, true],
  [{ about: 10_000, within: 39 }, false],
  [{ notBefore: 10_040 }, true],
  [{ notBefore: 10_041 }, false],
  [{ notAfter: 10_040 }, true],
  [{ notAfter: 10_039 }, false],
  [{ notBefore: 10_000, notAfter: 10_100 }, true],
])("a time that is like %j: %j", (matcher, holds) => {
  expect(paths({ taints: [{}, { atMs: matcher }] })).toEqual(holds ? [] : ["taints[1].atMs"]);
});

test.each<[object, boolean]>([
  [{ contains: [{ node: "b" }] }, true],
  [{ contains: [{ node: "c" }] }, false],
  [{ contains: [] }, true],
  [{ inAnyOrder: [{ node: "b" }, { node: "a" }] }, true],
  [{ inAnyOrder: [{ node: "b" }] }, false],
  [{ inAnyOrder: [{ node: "b" }, { node: "b" }] }, false],
  // The first item would match either expectation; it has to be left to the one that nothing else matches.
  [{ inAnyOrder: [{}, { node: "a" }] }, true],
  [{ excludes: [{ node: "c" }, { node: "a", atMs: 1 }] }, true],
  [{ excludes: [{ node: "c" }, { node: "b" }] }, false],
  [{ size: 2 }, true],
  [{ size: 3 }, false],
])("a list that is like %j: %j", (matcher, holds) => {
  expect(paths({ taints: matcher })).toEqual(holds ? [] : ["taints"]);
});

test("a matcher for a number matches only numbers", () => {
  expect(paths({ state: { notBefore: 0 } })).toEqual(["state"]);
  expect(paths({ nothing: { notBefore: 0 } })).toEqual(["nothing"]);
});

test("a malformed matcher is reported with its place", () => {
  expect(() => paths({ qps: { about: 1 } })).toThrow(/expect\.qps: .* needs a number within/);
});

test("an outcome gives the same text regardless of the order of its members, without the undefined ones", () => {
  expect(JSON.stringify(canonical({ b: 1, a: { d: undefined, c: Number.POSITIVE_INFINITY } }))).toBe(
    '{"a":{"c":"Infinity"},"b":1}',
  );
});

test("a difference is printed with its place, the expected and the actual value", () => {
  expect(printed(differences({ qps: 1, none: 2 }, outcome))).toBe(
    "  qps\n    expected  1\n    found     0.1\n  none\n    expected  2\n    found     nothing\n",
  );
});

test("the items of a list that differs are printed with the members that the expectation names, one to a line", () => {
  const writes = Array.from({ length: 3 }, (_, index) => ({
    atMs: 45_000 + index,
    object: `node/a-board-with-a-long-name-${index}`,
    conditions: [{ type: "Ready", message: "a hundred words" }],
  }));
  expect(printed(differences({ writes: [{ object: "node/x" }] }, { writes }))).toBe(
    [
      "  writes",
      '    expected  [{"object":"node/x"}]',
      "    found     [",
      '                {"object":"node/a-board-with-a-long-name-0"},',
      '                {"object":"node/a-board-with-a-long-name-1"},',
      '                {"object":"node/a-board-with-a-long-name-2"}',
      "              ]",
      "",
    ].join("\n"),
  );
});

test("a value of thousands of lines is truncated", () => {
  const lines = printed(differences({ list: [] }, { list: Array.from({ length: 5000 }, String) }));
  expect(lines.split("\n").length).toBeLessThan(70);
  expect(lines).toContain("... and 4942 lines more");
});
