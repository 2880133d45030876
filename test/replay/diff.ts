import { isRecord } from "../../agent/base/json.ts";
import { oneLine, type TerminalText, withTone } from "../../agent/base/text/terminal-text.ts";
import { type JsonSchema, memberOf } from "./form.ts";
import { MalformedCase } from "./malformed.ts";
import { canonical, type Outcome } from "./outcome.ts";

/** A place where the outcome differs from the expectation. */
export interface Difference {
  /** "zones.A.state", "taints[0].atMs". */
  readonly path: string;
  readonly expected: unknown;
  /** `undefined`: there is nothing. */
  readonly found: unknown;
}

/**
 * The differences between outcome and expectation. An expectation states only what matters: of an object, the named
 * members are compared; a list is compared completely.
 */
export const differences = (expected: unknown, outcome: Outcome): readonly Difference[] =>
  compare("", expected, canonical(outcome));

export const matchers: JsonSchema = {
  description: "In place of a value of expect: what the value must be like.",
  anyOf: [
    {
      description: "A number that lies at most `within` away from `about`.",
      type: "object",
      required: ["about", "within"],
      additionalProperties: false,
      properties: { about: { type: "number" }, within: { type: "number", minimum: 0 } },
      examples: [{ about: 10_000, within: 100 }],
    },
    {
      description: "A number that is not smaller, or not larger, or both.",
      type: "object",
      minProperties: 1,
      additionalProperties: false,
      properties: { notBefore: { type: "number" }, notAfter: { type: "number" } },
      examples: [{ notBefore: 70_000 }],
    },
    {
      description: "A list that holds each of these items at least once, in any order, and may hold others.",
      type: "object",
      required: ["contains"],
      additionalProperties: false,
      properties: { contains: { type: "array" } },
      examples: [{ contains: [{ reason: "NodeNotReady" }] }],
    },
    {
      description: "A list that holds exactly these items, in any order.",
      type: "object",
      required: ["inAnyOrder"],
      additionalProperties: false,
      properties: { inAnyOrder: { type: "array" } },
      examples: [{ inAnyOrder: ["a", "b"] }],
    },
    {
      description: "A list that holds none of these items.",
      type: "object",
      required: ["excludes"],
      additionalProperties: false,
      properties: { excludes: { type: "array" } },
      examples: [{ excludes: [{ node: "n1" }] }],
    },
    {
      description: "A list, an object or a text of this size.",
      type: "object",
      required: ["size"],
      additionalProperties: false,
      properties: { size: { type: "integer", minimum: 0 } },
      examples: [{ size: 3 }],
    },
  ],
};

function compare(path: string, expected: unknown, found: unknown): readonly Difference[] {
  const differs = [{ path: path === "" ? "outcome" : path, expected, found }];
  if (expected === null) return found === null || found === undefined ? [] : differs;
  const holds = isRecord(expected) ? matcherOf(path, expected) : undefined;
  if (holds) return holds(found) ? [] : differs;
  if (Array.isArray(expected)) {
    if (!Array.isArray(found) || found.length !== expected.length) return differs;
    return expected.flatMap((item: unknown, index) => compare(`${path}[${index}]`, item, found[index]));
  }
  if (isRecord(expected)) {
    if (!isRecord(found)) return differs;
    return Object.entries(expected).flatMap(([name, one]) =>
      compare(memberOf(path, name), one, Object.hasOwn(found, name) ? found[name] : undefined),
    );
  }
  return expected === found ? [] : differs;
}

type Holds = (found: unknown) => boolean;

/** `undefined` if the object is to be compared and is not a matcher. */
function matcherOf(path: string, { about, within, notBefore, notAfter, ...other }: Fields): Holds | undefined {
  const names = Object.keys(other);
  if (names.length === 0 && (about !== undefined || within !== undefined)) {
    const [middle, most] = [numberIn(path, "about", about), numberIn(path, "within", within)];
    return (found) => typeof found === "number" && Math.abs(found - middle) <= most;
  }
  if (names.length === 0 && (notBefore !== undefined || notAfter !== undefined)) {
    const least = notBefore === undefined ? Number.NEGATIVE_INFINITY : numberIn(path, "notBefore", notBefore);
    const most = notAfter === undefined ? Number.POSITIVE_INFINITY : numberIn(path, "notAfter", notAfter);
    return (found) => typeof found === "number" && found >= least && found <= most;
  }
  const [name, value] = names.length === 1 ? [names[0], other[names[0] ?? ""]] : [undefined, undefined];
  if (name === "contains" && Array.isArray(value)) {
    return (found) => Array.isArray(found) && value.every((item) => found.some((one) => matches(item, one)));
  }
  if (name === "excludes" && Array.isArray(value)) {
    return (found) => Array.isArray(found) && !value.some((item) => found.some((one) => matches(item, one)));
  }
  if (name === "inAnyOrder" && Array.isArray(value)) {
    return (found) => Array.isArray(found) && found.length === value.length && canPair(value, found);
  }
  if (name === "size" && typeof value === "number") return (found) => sizeOf(found) === value;
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function numberIn(path: string, name: string, value: unknown): number {
  if (typeof value === "number") return value;
  throw new MalformedCase([
    `expect.${path}: a matcher with about and within, or notBefore and notAfter, needs a number ${name}`,
  ]);
}

const matches = (expected: unknown, found: unknown): boolean => compare("", expected, found).length === 0;

/** Whether each expected item can be paired with a different found one. */
function canPair(expected: readonly unknown[], found: readonly unknown[]): boolean {
  const pairs = new Map<number, number>();
  const place = (item: number, tried: Set<number>): boolean =>
    found.some((one, at) => {
      if (tried.has(at) || !matches(expected[item], one)) return false;
      tried.add(at);
      const holder = pairs.get(at);
      if (holder !== undefined && !place(holder, tried)) return false;
      pairs.set(at, item);
      return true;
    });
  return expected.every((_, item) => place(item, new Set()));
}

function sizeOf(found: unknown): number | undefined {
  if (Array.isArray(found) || typeof found === "string") return found.length;
  return isRecord(found) ? Object.keys(found).length : undefined;
}

/** For people: each difference with its path, what was expected and what was found. */
export const printDifferences = (differences: readonly Difference[]): TerminalText =>
  differences.flatMap(({ path, expected, found }) => [
    `  ${oneLine(path)}\n`,
    withTone("good", `    expected  ${shown(expected)}`),
    "\n",
    withTone("bad", `    found     ${found === undefined ? "nothing" : shown(asFarAsNamed(expected, found))}`),
    "\n",
  ]);

/** The items of a list reduced to the members that the expected ones name: other members would hide the difference. */
function asFarAsNamed(expected: unknown, found: unknown): unknown {
  const items = Array.isArray(expected) ? expected : isRecord(expected) ? Object.values(expected).flat() : [];
  const names = new Set(items.filter(isRecord).flatMap(Object.keys));
  if (!Array.isArray(found) || names.size === 0) return found;
  return found.map((item: unknown) =>
    isRecord(item) ? Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name))) : item,
  );
}

const longest = 100;
/** Maximum length of one value. JSON output has the whole value. */
const mostLines = 60;
const indent = "              ";

function shown(value: unknown): string {
  const lines = linesOf(value, longest);
  const more = lines.length - mostLines;
  return [...lines.slice(0, mostLines), ...(more > 0 ? [`... and ${more} lines more`] : [])].join(`\n${indent}`);
}

/** JSON, in which every value that fits on a line is on one. */
function linesOf(value: unknown, room: number): readonly string[] {
  const line = JSON.stringify(value);
  if (line.length <= room || typeof value !== "object" || value === null) return [line];
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const members = Object.entries(value).map(([name, one]) => {
    const [first = "", ...rest] = linesOf(one, room - 2);
    return [Array.isArray(value) ? first : `${JSON.stringify(name)}: ${first}`, ...rest];
  });
  const inner = members.flatMap((lines, index) =>
    lines.map((text, at) => `  ${text}${at === lines.length - 1 && index < members.length - 1 ? "," : ""}`),
  );
  return [open, ...inner, close];
}
