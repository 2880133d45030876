import { expect, test } from "vitest";
import {
  backoffOf,
  type FailedBackoff,
  nextBackoff,
  stillValid,
} from "../../../../agent/controllers/daemonset/failed-pods.ts";

const at = (seconds: number) => ({ mono: seconds * 1000, wall: 0 });

test("the delay doubles from a second up to a quarter of an hour", () => {
  let backoff: FailedBackoff | undefined;
  const delays = Array.from({ length: 13 }, (_, index) => {
    backoff = nextBackoff(backoff, 1, at(index * 900));
    return backoff.delay / 1000;
  });
  expect(delays).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
});

test.each([
  [0, 4000],
  [3.999, 4000],
  [4, 0],
  [5, 0],
])("%d s after a pod failed, its replacement waits %d ms longer: the whole delay or nothing", (seconds, wait) => {
  const backoff = { generation: 1, delay: 4000, at: at(0) };
  expect(backoffOf(backoff, 1, at(seconds))).toBe(wait);
});

test("a board without a failure has no delay", () => {
  expect(backoffOf(undefined, 1, at(0))).toBe(0);
});

test("half an hour without a failure resets the delay", () => {
  const backoff = { generation: 1, delay: 900_000, at: at(0) };
  expect(nextBackoff(backoff, 1, at(1800)).delay).toBe(900_000);
  expect(nextBackoff(backoff, 1, at(1800.001)).delay).toBe(1000);
  expect(stillValid(new Map([["n1", backoff]]), 1, at(1800)).size).toBe(1);
  expect(stillValid(new Map([["n1", backoff]]), 1, at(1801)).size).toBe(0);
});

test("another generation of the set resets the delay too", () => {
  const backoff = { generation: 1, delay: 64_000, at: at(0) };
  expect(backoffOf(backoff, 2, at(1))).toBe(0);
  expect(nextBackoff(backoff, 2, at(1)).delay).toBe(1000);
});
