import { describe, expect, test } from "vitest";
import { emptyBucket, fullBucket, nextToken, refill, reserve, take } from "../../../agent/base/token-bucket.ts";

const at = (millis: number) => ({ mono: millis, wall: 0 });

describe("a token bucket", () => {
  const slow = { perSecond: 0.1, burst: 1 };
  const none = { perSecond: 0, burst: 1 };

  test("gives one token per ten seconds at 0.1 per second, and keeps no more than its burst", () => {
    let bucket = fullBucket(at(0), 1);
    const granted: number[] = [];
    for (let second = 0; second <= 60; second++) {
      const [got, rest] = take(bucket, slow, at(second * 1000));
      bucket = rest;
      if (got) granted.push(second);
    }
    expect(granted).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(refill(bucket, slow, at(1e9)).level).toBe(1);
  });

  test("at rate 0 never gets new tokens", () => {
    const [first, rest] = take(fullBucket(at(0), 1), none, at(0));
    expect(first).toBe(true);
    expect(take(rest, none, at(1e12))[0]).toBe(false);
    expect(nextToken(rest, none, at(1e12))).toBeUndefined();
  });

  test("reports when the next token comes, and does not fill while time runs backwards", () => {
    expect(nextToken(emptyBucket(at(0)), slow, at(0))?.mono).toBe(10_000);
    expect(nextToken(emptyBucket(at(0)), slow, at(4000))?.mono).toBe(10_000);
    expect(nextToken(fullBucket(at(0), 1), slow, at(0))?.mono).toBe(0);
    expect(refill(emptyBucket(at(1000)), slow, at(0)).level).toBe(0);
  });

  test("has a token even if a rounding error makes it seem incomplete", () => {
    const almost = { level: 1 - 1e-12, at: at(0) };
    expect(take(almost, slow, at(0))).toEqual([true, emptyBucket(at(0))]);
    expect(nextToken(almost, slow, at(0))).toEqual(at(0));
  });

  test("lets future tokens be reserved, each after those reserved before", () => {
    const rate = { perSecond: 10, burst: 2 };
    let bucket = fullBucket(at(0), rate.burst);
    const waits = [0, 0, 0, 0, 500, 10_000].map((now) => {
      const [wait, rest] = reserve(bucket, rate, at(now));
      bucket = rest;
      return Math.round(wait);
    });
    expect(waits).toEqual([0, 0, 100, 200, 0, 0]);
  });
});
