import { describe, expect, test } from "vitest";
import {
  fieldOf,
  labelSelectorOf,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from "../../../agent/api/selectors.ts";
import { node, pod } from "../../support/builders.ts";

describe("a label selector", () => {
  const labels = { app: "web", tier: "front", cores: "4", empty: "", "kubernetes.io/os": "linux" };
  test.each([
    ["", true],
    ["app=web", true],
    ["app==web", true],
    [" app = web , tier = front ", true],
    ["app=api", false],
    ["app!=api", true],
    ["app!=web", false],
    ["other!=web", true],
    ["app in (web, api)", true],
    ["app in (api)", false],
    ["app notin (api)", true],
    ["other notin (api)", true],
    ["app in (web),tier notin (back,side)", true],
    ["app", true],
    ["other", false],
    ["!other", true],
    ["!app", false],
    ["empty=", true],
    ["app=", false],
    ["cores>3", true],
    ["cores>4", false],
    ["cores<5", true],
    ["app>3", false],
    ["other<5", false],
    ["kubernetes.io/os=linux", true],
  ])("%j selects: %s", (text, expected) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected);
  });

  test("matches objects without labels if it requires none", () => {
    expect(matchesLabels(parseLabelSelector("!a,b!=c"), undefined)).toBe(true);
    expect(matchesLabels(parseLabelSelector("a"), undefined)).toBe(false);
  });

  test.each([
    "=web",
    "app=we b",
    "app=a/b",
    "app in web",
    "app in (",
    "a,,b",
    "a,",
    "cores>x",
    "-a",
    "a b",
    "!",
    "x/y/z",
  ])("%j is invalid", (text) => {
    expect(() => parseLabelSelector(text)).toThrow(SelectorError);
  });

  test("is read from its form in an object", () => {
    const selector = labelSelectorOf({
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "tier", operator: "In", values: ["front", "back"] },
        { key: "zone", operator: "NotIn", values: ["x"] },
        { key: "app", operator: "Exists" },
        { key: "other", operator: "DoesNotExist" },
      ],
    });
    expect(matchesLabels(selector, labels)).toBe(true);
    expect(matchesLabels(selector, { ...labels, other: "" })).toBe(false);
    expect(labelSelectorOf({})).toEqual([]);
  });

  test.each([
    { key: "a", operator: "In", values: [] },
    { key: "a", operator: "Near" },
    { key: "", operator: "Exists" },
  ])("an expression %o is invalid", (expression) => {
    expect(() => labelSelectorOf({ matchExpressions: [expression] })).toThrow(SelectorError);
  });
});

describe("a field selector", () => {
  const web = pod("web", { on: "pi-3" });
  test.each([
    ["", true],
    ["spec.nodeName=pi-3", true],
    ["spec.nodeName==pi-3", true],
    ["spec.nodeName!=pi-3", false],
    ["metadata.name=web,status.phase!=Failed", true],
    ["metadata.name=web,status.phase=Failed", false],
    ["spec.hostname=", true],
    ["spec.hostname!=", false],
    ["spec.containers=", true],
  ])("%j selects: %s", (text, expected) => {
    expect(matchesFields(parseFieldSelector(text), web)).toBe(expected);
  });

  test("accepts escaped commas, equals signs and backslashes", () => {
    expect(parseFieldSelector("a=x\\,y\\=z\\\\,b!=c")).toEqual([
      { field: "a", equal: true, value: "x,y=z\\" },
      { field: "b", equal: false, value: "c" },
    ]);
  });

  test.each(["a", "=b", "a=b=c", "a=\\b"])("%j is invalid", (text) => {
    expect(() => parseFieldSelector(text)).toThrow(SelectorError);
  });

  test("reads strings, numbers and booleans, but not inherited properties", () => {
    expect(fieldOf(node("pi", { unschedulable: true }), "spec.unschedulable")).toBe("true");
    expect(fieldOf(web, "metadata.constructor.name")).toBe("");
    expect(fieldOf(web, "status.phase.length")).toBe("");
  });
});
