import { describe, expect, test } from "vitest";
import type { Toleration } from "../../../../agent/api/core.ts";
import { identityOf, keyOfIdentity, shortest, windowOf } from "../../../../agent/controllers/taint-eviction/window.ts";
import { taint } from "../../../support/builders.ts";

const a = taint("testTaint1=test1:NoExecute");
const tolerates = (tolerationSeconds?: number, more: Toleration = {}): Toleration => ({
  key: "testTaint1",
  value: "test1",
  effect: "NoExecute",
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
  ...more,
});
const forever = Number.POSITIVE_INFINITY;

describe("how long a pod may stay beside a taint", () => {
  test.each([
    ["no tolerations", undefined, 0],
    ["an empty list", [], 0],
    ["some seconds", [tolerates(100)], 100_000],
    ["for good", [tolerates()], forever],
    ["no seconds at all", [tolerates(0)], 0],
    ["less than none", [tolerates(-5)], 0],
    ["the first that matches speaks", [tolerates(), tolerates(5)], forever],
    ["also where it is the shorter one", [tolerates(5), tolerates()], 5000],
    ["no key, any value", [{ operator: "Exists" }], forever],
    ["no key, and a value that differs", [{ operator: "Equal", value: "x" }], 0],
    ["another value", [tolerates(5, { value: "other" })], 0],
    ["another effect", [tolerates(5, { effect: "NoSchedule" })], 0],
    ["every effect", [tolerates(5, { effect: "" })], 5000],
    ["an unknown operator", [tolerates(5, { operator: "Near" })], 0],
    ["numeric operators are off", [tolerates(5, { operator: "Gt" })], 0],
  ])("%s", (_name, tolerations, length) => {
    expect(windowOf(a, tolerations).length).toBe(length);
  });

  test("seconds that are no number limit nothing", () => {
    const odd: Toleration = { ...tolerates(), tolerationSeconds: Number.NaN };
    expect(windowOf(a, [odd]).length).toBe(forever);
  });
});

test.each([
  ["none", [], forever],
  ["one for good", [forever], forever],
  ["the shorter one", [1000, 2000], 1000],
  ["one of them for good", [1000, forever], 1000],
  ["in either order", [forever, 1000], 1000],
])("the shortest of several counts: %s", (_name, lengths, least) => {
  expect(shortest(lengths.map((length) => ({ taint: a, length })))).toBe(least);
});

test("a taint is identified by key, value, effect and the time it was added", () => {
  const one = identityOf({ ...a, timeAdded: "T1" });
  expect(keyOfIdentity(one)).toBe("testTaint1");
  expect(identityOf({ ...a, timeAdded: "T1" })).toBe(one);
  const others = [{ ...a, timeAdded: "T2" }, { ...a, value: "x", timeAdded: "T1" }, { ...a, effect: "NoSchedule" }, a];
  expect(others.map(identityOf)).not.toContain(one);
});
