import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import {
  list,
  mapped,
  number,
  only,
  openRecord,
  optional,
  read,
  record,
  type Schema,
  SchemaProblems,
  text,
  whole,
  word,
  yesNo,
} from "../../../agent/base/schema.ts";

const board = record({
  name: text({ pattern: /^[a-z-]+$/, most: 8 }),
  kind: word("edge", "core"),
  rev: only(1),
  rails: optional(list(whole({ min: 0, max: 5 }), 3)),
  wear: optional(number()),
  isLeader: optional(yesNo),
});

const good = { name: "pi-3", kind: "edge", rev: 1 };

function allProblems(schema: Schema<unknown>, value: unknown, most = 100): readonly string[] {
  const problems = new SchemaProblems(most);
  expect(schema.read(value, problems) === undefined).toBe(problems.found.length > 0);
  return problems.found.map((one) => {
    const what = "expects" in one ? one.expects : "message" in one ? one.message : one.known.join();
    return `${one.path.join("/")} ${one.is}: ${what}`;
  });
}

test("every problem in a value is found and reported with its path", () => {
  const wrong = { name: "Pi 3", rev: 2, rails: [1, 9, "2"], wear: "new", isLeader: 1, moon: 1 };
  expect(allProblems(board, wrong)).toEqual([
    "kind missing: one of edge, core",
    "name against a rule: must match ^[a-z-]+$",
    "rev wrong: 1",
    "rails/1 wrong: a whole number from 0 to 5",
    "rails/2 wrong: a whole number from 0 to 5",
    "wear wrong: a number",
    "isLeader wrong: true or false",
    "moon unknown: name,kind,rev,rails,wear,isLeader",
  ]);
});

test("reading stops at the maximum number of problems", () => {
  let reads = 0;
  const counted = mapped(whole(), (value) => {
    reads++;
    return value;
  });
  const many = Array.from({ length: 1000 }, (_, at) => (at < 3 ? at : "x"));
  expect(allProblems(list(counted), many, 2)).toEqual(["3 wrong: a whole number", "4 wrong: a whole number"]);
  expect(reads).toBe(3);
  const strangers = Object.fromEntries(many.map((_, at) => [`m${at}`, 1]));
  expect(allProblems(record({}), strangers, 2)).toHaveLength(2);
});

test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
  "a member called %s is like any other",
  (name) => {
    const value: unknown = JSON.parse(`{"${name}":1}`);
    expect(allProblems(record({}), value)).toEqual([`${name} unknown: `]);
    expect(allProblems(record({ [name]: whole() }), {})).toEqual([`${name} missing: a whole number`]);
    expect(read(openRecord({}), value)).toEqual({ value });
    expect(read(record({ [name]: whole() }), value)).toEqual({ value });
  },
);

test("an open record keeps unknown members, and checks the known ones", () => {
  const open = openRecord({ pid: whole() });
  expect(read(open, { pid: 3, moon: { phase: 3 } })).toEqual({ value: { pid: 3, moon: { phase: 3 } } });
  expect(allProblems(open, { pid: "3", moon: 1 })).toEqual(["pid wrong: a whole number"]);
});

test.each([null, undefined, [], [good], "text", 3, true])("%j is not an object", (value) => {
  expect(allProblems(board, value)).toEqual([" wrong: an object"]);
});

test("the length of a string is counted in code points, before its pattern is tried", () => {
  const short = text({ pattern: /^😀+$/u, most: 4 });
  expect(allProblems(short, "😀😀😀😀")).toEqual([]);
  expect(allProblems(short, "😀".repeat(5))).toEqual([" against a rule: must have 1 to 4 characters"]);
  expect(allProblems(short, "")).toEqual([" against a rule: must have 1 to 4 characters"]);
  expect(allProblems(text({ pattern: /^a$/, expects: "the letter a" }), "b")).toEqual([" wrong: the letter a"]);
});

test("a mapped schema converts the value, and adds rules that JSON Schema cannot express", () => {
  const even = mapped(whole(), (value, problems) =>
    value % 2 === 0 ? String(value) : problems.add({ is: "against a rule", message: "must be even" }),
  );
  expect(read(list(even), [2, 4])).toEqual({ value: ["2", "4"] });
  expect(allProblems(list(even), [2, 3, "4"])).toEqual(["1 against a rule: must be even", "2 wrong: a whole number"]);
});

test.each([1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, "1", null])("%s is not a whole number", (value) => {
  expect(read(whole(), value)).toHaveProperty("problem");
});

test("the JSON Schema accepts exactly the values that are read", () => {
  const judge = new Ajv2020({ strict: true }).compile({ ...board.json });
  for (const value of [
    good,
    { ...good, rails: [0, 5], wear: 0.5, isLeader: false },
    { ...good, rails: [6] },
    { ...good, rails: [1, 1, 1, 1] },
    { ...good, name: "" },
    { ...good, name: "abcdefghi" },
    { ...good, kind: "moon" },
    { ...good, rev: "1" },
    { ...good, moon: 1 },
    { name: "pi" },
    [],
  ]) {
    expect("value" in read(board, value), JSON.stringify(value)).toBe(judge(value));
  }
});
