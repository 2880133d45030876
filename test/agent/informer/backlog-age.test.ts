import { expect, test } from "vitest";
import { BacklogAge } from "../../../agent/informer/backlog-age.ts";
import { at } from "../../support/site-status.ts";

test("an unhandled backlog grows old, and has no age once it is handled in full", () => {
  const age = new BacklogAge();
  expect(age.at(at(0))).toBeUndefined();
  age.added(3, at(10));
  age.added(9, at(50));
  expect(age.at(at(70))).toBe(60_000);
  age.handled(9, 0, at(71));
  expect(age.at(at(72))).toBeUndefined();
});

test("a backlog that is handled as fast as it grows stays young, although it is never empty", () => {
  const age = new BacklogAge();
  age.added(10, at(0));
  for (let second = 1; second <= 600; second++) age.handled(10, 10, at(second));
  expect(age.at(at(601))).toBe(1000);
});

test("a backlog that is partly handled is as old as its oldest remaining change", () => {
  const age = new BacklogAge();
  age.added(100, at(0));
  for (let second = 1; second < 100; second++) age.handled(1, 100, at(second));
  expect(age.at(at(99))).toBe(99_000);
});
