import { expect, test } from "vitest";
import { RetryLimiter } from "../../../agent/loop/retry-limiter.ts";

const at = (millis: number) => ({ mono: millis, wall: 0 });
const generous = { perSecond: 1e9, burst: 1e9 };

test("failures of a key double its delay, up to the maximum, and are forgotten on demand", () => {
  const limiter = new RetryLimiter({ first: 1, max: 1000, ...generous });
  const delays = Array.from({ length: 5 }, () => limiter.delay("one", at(0)));
  expect(delays).toEqual([1, 2, 4, 8, 16]);
  expect(limiter.failures("one")).toBe(5);
  expect(limiter.delay("two", at(0))).toBe(1);
  limiter.forget("one");
  expect(limiter.delay("one", at(0))).toBe(1);
  for (let failure = 0; failure < 2000; failure++) limiter.delay("one", at(0));
  expect(limiter.delay("one", at(0))).toBe(1000);
});
