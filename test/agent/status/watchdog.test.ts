import { describe, expect, test } from "vitest";
import { elapsed, type Instant, shifted } from "../../../agent/base/clock.ts";
import type { Progress } from "../../../agent/base/progress.ts";
import { stuckOf, Watchdog } from "../../../agent/status/watchdog.ts";
import { watchdogLimits } from "../../../agent/status/watchdog-limits.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { ProcessClock } from "../../support/process-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const at: Instant = { mono: 1_000_000, wall: 0 };
const limitOf = (name: string): number => (name === "election" ? 100 : 300);

describe("a loop is stuck", () => {
  test.each<[string, readonly Progress[], number, readonly string[]]>([
    ["not without any loop", [], 10_000, []],
    ["not while it is idle, regardless of how long", [{ name: "pod-gc", at: "idle" }], 1e9, []],
    ["not exactly at its limit", [{ name: "pod-gc", at }], 300, []],
    ["just after its limit", [{ name: "pod-gc", at }], 301, ["pod-gc"]],
    [
      "by its own limit, which differs from loop to loop",
      [
        { name: "pod-gc", at },
        { name: "election", at },
      ],
      200,
      ["election"],
    ],
    [
      "and so is every other loop beyond its limit",
      [
        { name: "pod-gc", at },
        { name: "election", at },
      ],
      301,
      ["pod-gc", "election"],
    ],
    ["not while its next move is still in the future", [{ name: "election", at: shifted(at, 1000) }], 1050, []],
  ])("%s", (_, loops, after, expected) => {
    expect(stuckOf(loops, limitOf, shifted(at, after)).map(({ name }) => name)).toEqual(expected);
  });
});

test("a loop's limit grows with the timeouts of requests and outages; the limit of the database is the shortest", () => {
  const limits = watchdogLimits({ longestRequest: 30_000, renewDeadline: 40_000 });
  expect(["database", "election", "pod-gc"].map(limits)).toEqual([120_000, 150_000, 460_000]);
});

describe("the watchdog", () => {
  function dog(period: number | undefined) {
    const clock = new FakeClock();
    const log = new RecordingLog();
    const beats: number[] = [];
    const started = clock.now();
    let loops: readonly Progress[] = [];
    let changes = 0;
    const process = new ProcessClock(clock);
    const watchdog = new Watchdog(
      { clock: process, log, random: new SeededRandom() },
      {
        period,
        loops: () => loops,
        limitOf,
        alive: () => beats.push(elapsed(started, clock.now())),
        changed: () => changes++,
      },
    );
    const stop = new AbortController();
    const running = watchdog.run(stop.signal);
    return {
      clock,
      process,
      log,
      beats,
      watchdog,
      changes: () => changes,
      set: (next: readonly Progress[]) => {
        loops = next;
      },
      end: async () => {
        stop.abort();
        await running;
      },
    };
  }

  test("reports four times within the period that the agent is alive", async () => {
    const { clock, beats, end } = dog(60_000);
    await clock.advance("60s");
    expect(beats).toEqual([0, 15_000, 30_000, 45_000, 60_000]);
    await end();
  });

  test("reports nothing while a loop is stuck, names it once, and continues when the loop makes progress again", async () => {
    const { clock, beats, log, watchdog, changes, set, end } = dog(4000);
    set([{ name: "pod-gc", at: clock.now() }]);
    await clock.advance("3s");
    // At 1 s the loop had stood still for longer than its 300 ms.
    expect(beats).toEqual([0]);
    expect(log.said("error")).toHaveLength(1);
    expect(log.lines[0]?.fields).toMatchObject({ loop: "pod-gc" });
    expect(watchdog.stuck.map(({ name }) => name)).toEqual(["pod-gc"]);
    set([{ name: "pod-gc", at: "idle" }]);
    await clock.advance("1s");
    expect(beats).toEqual([0, 4000]);
    expect(watchdog.stuck).toEqual([]);
    expect(changes()).toBe(2);
    await end();
  });

  test("does not blame a loop for a suspension of the whole process, but does if the loop then makes no progress", async () => {
    const { clock, process, log, watchdog, set, end } = dog(undefined);
    set([{ name: "election", at: clock.now() }]);
    process.suspend();
    await clock.advance("10m");
    process.resume();
    await clock.advance(500);
    // It wakes up as the watchdog does.
    set([{ name: "election", at: "idle" }]);
    await clock.advance("1m");
    expect(log.said("error")).toEqual([]);
    set([{ name: "election", at: clock.now() }]);
    process.suspend();
    await clock.advance("10m");
    process.resume();
    await clock.advance(1100);
    expect(watchdog.stuck.map(({ name }) => name)).toEqual(["election"]);
    await end();
  });

  test("checks without systemd too, so that the status shows a stuck loop", async () => {
    const { clock, set, watchdog, end } = dog(undefined);
    set([{ name: "election", at: clock.now() }]);
    await clock.advance("16s");
    expect(watchdog.stuck.map(({ name }) => name)).toEqual(["election"]);
    await end();
  });
});
