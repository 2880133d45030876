import { expect, test } from "vitest";
import { skewIn } from "../../../agent/client/clock-skew.ts";

const at = (mono: number, wall: string) => ({ mono, wall: Date.parse(wall) });
const date = "Fri, 20 Nov 2026 12:00:00 GMT";

test.each([
  ["agrees, within the precision of whole seconds", "2026-11-20T12:00:00.600Z", 200, 0],
  ["is an hour behind", "2026-11-20T11:00:00.600Z", 200, 3_600_000],
  ["is ten seconds ahead, seen over a slow link", "2026-11-20T12:00:12.500Z", 4000, -10_000],
  ["woke up in 1970", "1970-01-01T00:00:00.600Z", 200, Date.parse("2026-11-20T12:00:00Z")],
])("the skew of a board whose clock %s", (_, wall, took, skew) => {
  expect(skewIn(date, at(1000, wall), at(1000 + took, wall))).toBe(skew);
});

test("a slow response, or one without a date, does not show a skew", () => {
  const [begun, now] = [at(0, "2026-11-20T12:00:00Z"), at(6000, "2026-11-20T12:00:06Z")];
  expect(skewIn(date, begun, now)).toBeUndefined();
  expect(skewIn(undefined, begun, begun)).toBeUndefined();
  expect(skewIn("yesterday", begun, begun)).toBeUndefined();
});
