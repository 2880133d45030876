import { expect, test } from "vitest";
import { conditionOf, withCondition } from "../../../agent/api/conditions.ts";

const ready = { type: "Ready", status: "True" };

test("a condition is found by its type", () => {
  expect(conditionOf([ready], "Ready")).toBe(ready);
  expect(conditionOf([ready], "Other")).toBeUndefined();
  expect(conditionOf(undefined, "Ready")).toBeUndefined();
  expect(conditionOf(JSON.parse("[null,7]"), "Ready")).toBeUndefined();
  expect(conditionOf(JSON.parse('"Ready"'), "Ready")).toBeUndefined();
});

test("a new condition replaces the one of its type, or is appended", () => {
  const lost = { type: "Ready", status: "Unknown" };
  const other = { type: "Other", status: "True" };
  expect(withCondition([ready, other], lost)).toEqual([lost, other]);
  expect(withCondition([other], lost)).toEqual([other, lost]);
  expect(withCondition(undefined, lost)).toEqual([lost]);
});
