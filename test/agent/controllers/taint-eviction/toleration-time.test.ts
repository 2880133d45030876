import { describe, expect, test } from "vitest";
import type { Toleration } from "../../../../agent/api/core.ts";
import {
  identityOf,
  keyOfIdentity,
  minLength,
  tolerationTimeFor,
} from "../../../../agent/controllers/taint-eviction/toleration-time.ts";
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

describe("the time that a pod may stay on a board with a taint", () => {
  test.each([
    ["is nothing without tolerations", undefined, 0],
    ["is nothing with an empty list of tolerations", [], 0],
    ["is the toleration's seconds", [tolerates(100)], 100_000],
    ["is unlimited without seconds", [tolerates()], forever],
    ["is nothing for zero seconds", [tolerates(0)], 0],
    ["is nothing for negative seconds", [tolerates(-5)], 0],
    ["is that of the first toleration that matches", [tolerates(), tolerates(5)], forever],
    ["is that of the first one even if it is shorter", [tolerates(5), tolerates()], 5000],
    ["is unlimited for a toleration of every key", [{ operator: "Exists" }], forever],
    ["is nothing for a toleration of every key with another value", [{ operator: "Equal", value: "x" }], 0],
    ["is nothing for a toleration of another value", [tolerates(5, { value: "other" })], 0],
    ["is nothing for a toleration of another effect", [tolerates(5, { effect: "NoSchedule" })], 0],
    ["is the seconds of a toleration of every effect", [tolerates(5, { effect: "" })], 5000],
    ["is nothing for an unknown operator", [tolerates(5, { operator: "Near" })], 0],
    ["is nothing for a numeric operator", [tolerates(5, { operator: "Gt" })], 0],
  ])("%s", (_name, tolerations, length) => {
    expect(tolerationTimeFor(a, tolerations).length).toBe(length);
  });

  test("is unlimited if the seconds are not a number", () => {
    const odd: Toleration = { ...tolerates(), tolerationSeconds: Number.NaN };
    expect(tolerationTimeFor(a, [odd]).length).toBe(forever);
  });
});

test.each([
  ["none", [], forever],
  ["one without a limit", [forever], forever],
  ["two limits", [1000, 2000], 1000],
  ["one limit of two", [1000, forever], 1000],
  ["the same in either order", [forever, 1000], 1000],
])("the shortest toleration time applies: %s", (_name, lengths, least) => {
  expect(minLength(lengths.map((length) => ({ taint: a, length })))).toBe(least);
});

test("a taint is identified by key, value, effect and the time it was added", () => {
  const one = identityOf({ ...a, timeAdded: "T1" });
  expect(keyOfIdentity(one)).toBe("testTaint1");
  expect(identityOf({ ...a, timeAdded: "T1" })).toBe(one);
  const others = [{ ...a, timeAdded: "T2" }, { ...a, value: "x", timeAdded: "T1" }, { ...a, effect: "NoSchedule" }, a];
  expect(others.map(identityOf)).not.toContain(one);
});
