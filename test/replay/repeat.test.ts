import { expect, test } from "vitest";
import { MalformedCase } from "./malformed.ts";
import { expand } from "./repeat.ts";

test("`repeat` expands in place, between its neighbours", () => {
  expect(expand({ nodes: ["first", { repeat: 3, item: { name: "n{n}" } }, "last"] })).toEqual({
    nodes: ["first", { name: "n0" }, { name: "n1" }, { name: "n2" }, "last"],
  });
  expect(expand([{ repeat: 0, item: "x" }])).toEqual([]);
  expect(expand([{ repeat: 2, item: 5 }])).toEqual([5, 5]);
});

test.each([
  ["{n}", ["0", "1", "2", "3"]],
  ["p{n:3}", ["p000", "p001", "p002", "p003"]],
  ["{n+9:2}", ["09", "10", "11", "12"]],
  ["10.0.{n/2}.{n%2}", ["10.0.0.0", "10.0.0.1", "10.0.1.0", "10.0.1.1"]],
  ["{100-n}", ["100", "99", "98", "97"]],
  ["{m} {n/0} {n*2} {", ["{m} {n/0} {n*2} {", "{m} {n/0} {n*2} {", "{m} {n/0} {n*2} {", "{m} {n/0} {n*2} {"]],
])("a text in the copies may use their number: %s", (item, texts) => {
  expect(expand([{ repeat: 4, item }])).toEqual(texts);
});

test("the number is also replaced in names of members, and an inner repeat has its own", () => {
  expect(expand([{ repeat: 2, item: { "n{n}": [{ repeat: 2, item: "p{n}" }] } }])).toEqual([
    { n0: ["p0", "p1"] },
    { n1: ["p0", "p1"] },
  ]);
});

test("a repeat outside a list, or with additional members, is left to the family", () => {
  const value = { given: { repeat: 2, item: "x" }, list: [{ repeat: 2, item: "x", name: "y" }] };
  expect(expand(value)).toEqual(value);
});

test.each([-1, 1.5, 10_001, "3", null])("a case that repeats %j times is refused", (repeat) => {
  expect(() => expand({ given: { nodes: ["n", { repeat, item: "x" }] } })).toThrow(
    `case.given.nodes[1].repeat takes a whole number from 0 to 10000, not ${JSON.stringify(repeat)}`,
  );
});

test("repeats within repeats cannot fill the memory", () => {
  let item: unknown = "x";
  for (let depth = 0; depth < 5; depth++) item = [{ repeat: 1000, item }];
  expect(() => expand(item)).toThrow(MalformedCase);
});
