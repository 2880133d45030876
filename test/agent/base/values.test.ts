import { describe, expect, test } from "vitest";
import { backoff } from "../../../agent/base/backoff.ts";
import { LineLogger } from "../../../agent/base/logger.ts";
import { jitter } from "../../../agent/base/random.ts";
import { formatDuration, parseDuration } from "../../../agent/base/time/duration.ts";
import { Heap } from "../../../agent/loop/heap.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

test.each([
  [0, 5],
  [1, 5],
  [2, 10],
  [8, 640],
  [18, 655_360],
  [19, 1_000_000],
  [1e9, 1_000_000],
])("after %i failures the backoff is %i ms", (failures, delay) => {
  expect(backoff(failures, { first: 5, max: 1_000_000 })).toBe(delay);
});

describe("durations", () => {
  test.each([
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["1.5h", 5_400_000],
    ["2d", 172_800_000],
    ["0s", 0],
  ])("%s is parsed", (text, millis) => {
    expect(parseDuration(text)).toBe(millis);
  });

  test.each(["", "5", "5 s", "-5s", "1h30", "s", "1e3s", "5S", ".5s"])("%j is not a duration", (text) => {
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
  ])("%d ms are formatted as %s", (millis, text) => {
    expect(formatDuration(millis)).toBe(text);
  });
});

test("a heap returns its smallest item, regardless of the order of insertion", () => {
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

test("jitter lengthens a duration by at most its factor", () => {
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

  test("are JSON for journald, with priority, the child's fields and the messages of errors", () => {
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

  test("are one readable line each, without undefined fields", () => {
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
