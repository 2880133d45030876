import { describe, expect, test } from "vitest";
import { backoff } from "../../../agent/base/backoff.ts";
import { formatDuration, parseDuration } from "../../../agent/base/duration.ts";
import { Heap } from "../../../agent/base/heap.ts";
import { LineLogger } from "../../../agent/base/logger.ts";
import { jitter } from "../../../agent/base/random.ts";
import { emptyBucket, filled, fullBucket, nextToken, take } from "../../../agent/base/token-bucket.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const at = (millis: number) => ({ mono: millis, wall: 0 });

test.each([
  [0, 5],
  [1, 5],
  [2, 10],
  [8, 640],
  [18, 655_360],
  [19, 1_000_000],
  [1e9, 1_000_000],
])("after %i failures the backoff is %i ms", (failures, delay) => {
  expect(backoff(failures, { first: 5, most: 1_000_000 })).toBe(delay);
});

describe("durations", () => {
  test.each([
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["1.5h", 5_400_000],
    ["2d", 172_800_000],
    ["0s", 0],
  ])("%s is read", (text, millis) => {
    expect(parseDuration(text)).toBe(millis);
  });

  test.each(["", "5", "5 s", "-5s", "1h30", "s", "1e3s", "5S", ".5s"])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test.each([
    [0, "0ms"],
    [250, "250ms"],
    [999.4, "999ms"],
    [999.6, "1s"],
    [40_000, "40s"],
    [59_600, "1m"],
    [125_000, "2m5s"],
    [14_280_000, "3h58m"],
    [187_200_000, "2d4h"],
    [86_405_000, "1d"],
    [-5000, "-5s"],
  ])("%d ms are said as %s", (millis, text) => {
    expect(formatDuration(millis)).toBe(text);
  });
});

test("a heap gives back its smallest, whatever went in", () => {
  const random = new SeededRandom(3);
  const heap = new Heap<number>((a, b) => a < b);
  const all: number[] = [];
  for (let round = 0; round < 500; round++) {
    const value = random.integer(100);
    heap.push(value);
    all.push(value);
    if (random.integer(3) === 0) {
      all.sort((a, b) => a - b);
      expect(heap.peek()).toBe(all[0]);
      expect(heap.pop()).toBe(all.shift());
    }
  }
  expect(heap.size).toBe(all.length);
  all.sort((a, b) => a - b);
  for (const value of all) expect(heap.pop()).toBe(value);
  expect([heap.pop(), heap.size]).toEqual([undefined, 0]);
});

describe("a token bucket", () => {
  test("gives one token per ten seconds at 0.1 per second, and keeps no more than its burst", () => {
    let bucket = fullBucket(at(0));
    const granted: number[] = [];
    for (let second = 0; second <= 60; second++) {
      const [got, rest] = take(bucket, 0.1, at(second * 1000));
      bucket = rest;
      if (got) granted.push(second);
    }
    expect(granted).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(filled(bucket, 0.1, at(1e9)).level).toBe(1);
  });

  test("at rate 0 gives what it has and then nothing, for ever", () => {
    const [first, rest] = take(fullBucket(at(0)), 0, at(0));
    expect(first).toBe(true);
    expect(take(rest, 0, at(1e12))[0]).toBe(false);
    expect(nextToken(rest, 0, at(1e12))).toBeUndefined();
  });

  test("says when the next token comes, and does not fill while time runs backwards", () => {
    expect(nextToken(emptyBucket(at(0)), 0.1, at(0))?.mono).toBe(10_000);
    expect(nextToken(emptyBucket(at(0)), 0.1, at(4000))?.mono).toBe(10_000);
    expect(nextToken(fullBucket(at(0)), 0.1, at(0))?.mono).toBe(0);
    expect(filled(emptyBucket(at(1000)), 1, at(0)).level).toBe(0);
  });
});

test("jitter stretches by up to its factor", () => {
  const values = Array.from(
    { length: 1000 },
    (
      (random) => () =>
        jitter(random, 10, 1.2)
    )(new SeededRandom()),
  );
  expect(Math.min(...values)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...values)).toBeLessThan(22);
});

describe("log lines", () => {
  function logged(format: "json" | "text", level: "info" | "debug" = "info") {
    const lines: string[] = [];
    const logger = new LineLogger({ level, format, clock: new FakeClock(), write: (line) => lines.push(line) });
    return { lines, logger };
  }

  test("are JSON for journald, with priority, fields of the child and sentences of errors", () => {
    const { lines, logger } = logged("json");
    const error = new Error("write", { cause: new Error("disk full") });
    logger.child({ controller: "pod-gc" }).warn("pass failed", { error, key: "site" });
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      time: "2026-01-01T00:00:00.000Z",
      level: "warn",
      priority: 4,
      message: "pass failed",
      controller: "pod-gc",
      error: "write: disk full",
      key: "site",
    });
  });

  test("are readable on a terminal, one line each, without what is undefined", () => {
    const { lines, logger } = logged("text");
    logger.info("leading", { term: 3, why: "it is\nfree", nothing: undefined, path: "/a" });
    expect(lines).toEqual(['00:00:00.000 info  leading term=3 why="it is\\nfree" path=/a']);
  });

  test("below the level are not written", () => {
    const { lines, logger } = logged("text");
    logger.debug("detail");
    expect(lines).toEqual([]);
    const loud = logged("text", "debug");
    loud.logger.debug("detail");
    expect(loud.lines).toHaveLength(1);
  });
});
