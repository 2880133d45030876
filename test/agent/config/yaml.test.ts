import { expect, test } from "vitest";
import { parseYaml } from "../../../agent/config/yaml.ts";

const problemsIn = (source: string): string[] =>
  parseYaml(source).problems.map(({ line, message }) => `${line ?? "-"}: ${message}`);

test("every key has its line, even below lists and after comments", () => {
  const yaml = parseYaml("# first\na: 1\nb:\n  - x: 1\n  - y: 2\n\nc: {d: 1,\n  e: 2}\n");
  expect(yaml.value).toEqual({ a: 1, b: [{ x: 1 }, { y: 2 }], c: { d: 1, e: 2 } });
  expect([["a"], ["b"], ["b", "1", "y"], ["c", "d"], ["c", "e"]].map(yaml.lineOf)).toEqual([2, 3, 5, 7, 8]);
  expect(yaml.lineOf(["nowhere"])).toBeUndefined();
});

test("all duplicate keys are reported, each with both lines", () => {
  expect(problemsIn("a: 1\nb:\n  c: 1\n  d: 1\n  c: 2\na: 2\n")).toEqual([
    "5: b.c is written twice, first on line 3",
    "6: a is written twice, first on line 1",
  ]);
});

test("the same key in two items of a list is not a duplicate", () => {
  expect(problemsIn("a:\n  - x: 1\n  - x: 2\n")).toEqual([]);
});

test.each([
  ["tabs", "a:\n\tb: 1\n", "2: not valid YAML: tabs cannot indent YAML; use spaces"],
  ["an open bracket", "a: [1\nb: 2\n", "2: not valid YAML: deficient indentation"],
  ["no content", "", "-: the file is empty"],
  ["a comment only", "# later\n", "-: the file is empty"],
  ["two documents", "a: 1\n---\nb: 2\n", "-: contains more than one document"],
  ["a key that is a list", "? [a]\n: 1\n", "1: not valid YAML: a key must be plain text"],
  ["deep nesting", "[".repeat(1000), "1: not valid YAML: nested too deeply"],
])("a file with %s is reported in plain words", (_, source, problem) => {
  expect(problemsIn(source)).toEqual([problem]);
});

test("a few lines of aliases cannot expand into gigabytes", () => {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 12; level++)
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(", ")}]`,
    );
  expect(problemsIn(lines.join("\n"))).toEqual([
    "2: not valid YAML: aliases (*name) are not used here; write the value out",
  ]);
});

test("__proto__ is a key like any other, and changes no prototype", () => {
  const { value } = parseYaml("__proto__: {polluted: yes}\n");
  expect(Object.keys(value as object)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});
