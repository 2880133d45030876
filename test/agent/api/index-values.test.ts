import { describe, expect, test } from "vitest";
import {
  labelValues,
  mayBeSelectedBy,
  mayMatch,
  mayMatchEach,
  selectedBy,
  serviceOf,
} from "../../../agent/api/index-values.ts";
import { labelSelectorOf, matchesLabels, parseLabelSelector } from "../../../agent/api/selectors.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const random = new SeededRandom();
const pick = <T>(all: readonly T[]): T => all[Math.floor(random.next() * all.length)] as T;
const someLabels = (): Record<string, string> =>
  Object.fromEntries(
    ["app", "tier", "pod-template-hash", "a.b/c"].flatMap((key) =>
      random.next() < 0.5 ? [[key, pick(["x", "y", ""])]] : [],
    ),
  );

test("objects that match a selector have every index value that the selector looks up", () => {
  for (let i = 0; i < 2000; i++) {
    const [selector, labels] = [labelSelectorOf({ matchLabels: someLabels() }), someLabels()];
    if (!matchesLabels(selector, labels)) continue;
    expect(labelValues("n", labels)).toEqual(expect.arrayContaining([...mayMatchEach("n", selector)]));
    expect(mayMatchEach("n", selector)).toContain(mayMatch("n", selector));
  }
});

test("selectors that match a pod have one of the index values that the pod looks up", () => {
  for (let i = 0; i < 2000; i++) {
    const [matchLabels, labels] = [someLabels(), someLabels()];
    if (!matchesLabels(labelSelectorOf({ matchLabels }), labels)) continue;
    expect(mayBeSelectedBy("n", labels)).toContain(selectedBy("n", matchLabels));
  }
});

test("only the first labels by name are indexed for an object with thousands of them, and a selector needs only a few look-ups", () => {
  const labels = Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`l-${String(9999 - i)}`, "v"]));
  expect(labelValues("n", labels)).toHaveLength(129);
  expect(labelValues("n", labels)[1]).toBe("n l-2000 v");
  expect(mayBeSelectedBy("n", labels)).toHaveLength(129);
  const selector = labelSelectorOf({ matchLabels: labels });
  expect(mayMatchEach("n", selector)).toHaveLength(8);
});

describe("a selector", () => {
  test.each([
    ["app=web", "n app web"],
    ["app in (web)", "n app web"],
    ["app in (web,db)", "n"],
    ["app in (web,db),tier=x", "n tier x"],
    ["app", "n"],
    ["app!=web", "n"],
    ["pod-template-hash=abc", "n"],
    ["", "n"],
  ])("%j is looked up as %j", (selector, value) => {
    expect(mayMatch("n", parseLabelSelector(selector))).toBe(value);
  });

  test("does not find objects of another namespace", () => {
    expect(labelValues("n", { app: "web" })).not.toContain(mayMatch("m", parseLabelSelector("app=web")));
    expect(labelValues("n", undefined)).toEqual(["n"]);
  });
});

test("a slice belongs to the service that its label names, in its namespace", () => {
  const slice = (labels?: Record<string, string>) => ({
    metadata: { name: "web-x", namespace: "n", uid: "1", resourceVersion: "1", ...(labels && { labels }) },
  });
  expect(serviceOf(slice({ "kubernetes.io/service-name": "web" }))).toBe("n/web");
  expect(serviceOf(slice({ "kubernetes.io/service-name": "" }))).toBeUndefined();
  expect(serviceOf(slice())).toBeUndefined();
});
