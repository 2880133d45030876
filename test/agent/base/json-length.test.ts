import { expect, test } from "vitest";
import { jsonLength } from "../../../agent/base/json-length.ts";

test.each<unknown>([
  { metadata: { name: "web", labels: { app: "web" } }, spec: { ports: [{ name: "http", protocol: "TCP" }] } },
  { text: "x".repeat(1000), list: ["a", "b"] },
  [],
  {},
  "text",
])("the length of %j is that of its JSON, give or take a sign per value", (value) => {
  const exact = JSON.stringify(value).length;
  expect(Math.abs(jsonLength(value) - exact)).toBeLessThanOrEqual(exact / 8 + 1);
});

test("the search ends soon after the limit", () => {
  const list = Array.from({ length: 1_000_000 }, () => "x");
  expect(jsonLength({ list }, 1000)).toBeLessThan(1100);
  expect(jsonLength({ list: ["x".repeat(2000)] }, 1000)).toBeGreaterThan(1000);
});
