import { expect, test } from "vitest";
import { SeededRandom } from "../seeded-random.ts";
import { type Point, slopeOf, verdictOn } from "./slope.ts";

const random = new SeededRandom(1);

/** 30 samples, 250 steps apart, of a value that grows by this much with each step, with an error of up to `noise`. */
const looks = (perStep: number, noise: number): readonly Point[] =>
  Array.from({ length: 30 }, (_, i) => ({
    x: 250 * i,
    y: 8_000_000 + perStep * 250 * i + (2 * random.next() - 1) * noise,
  }));

test("the line through exact points is found with certainty", () => {
  expect(slopeOf([1, 3, 7].map((x) => ({ x, y: 5 + 2 * x }))).perStep).toBeCloseTo(2, 10);
  expect(slopeOf(looks(0, 0))).toEqual({ perStep: 0, uncertainty: 0 });
});

test("a leak of one object in each step is found in noise a thousand times as large", () => {
  expect(verdictOn(slopeOf(looks(100, 50_000)), 64)).toBe("grows");
  expect(verdictOn(slopeOf(looks(0, 50_000)), 64)).toBe("flat");
});

test("noise that could hide a leak is neither flat nor growth", () => {
  expect(verdictOn(slopeOf(looks(0, 2_000_000)), 64)).toBe("uncertain");
});

test("a short series of integer counts is uncertain", () => {
  const same = [0, 10, 20].map((x) => ({ x, y: 37 }));
  expect(verdictOn(slopeOf(same, 1), 0.01)).toBe("uncertain");
  expect(
    verdictOn(
      slopeOf(
        same.map(({ x, y }) => ({ x: 50 * x, y })),
        1,
      ),
      0.01,
    ),
  ).toBe("flat");
});

test("points that do not determine a line are refused", () => {
  expect(() =>
    slopeOf([
      { x: 1, y: 1 },
      { x: 2, y: 2 },
    ]),
  ).toThrow("three points");
  expect(() => slopeOf([1, 1, 1].map((x) => ({ x, y: 1 })))).toThrow("lie apart");
});
