import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import { MemoryGuard, memoryStep } from "../../../agent/status/memory-guard.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const limits = { soft: 100, hard: 150 };
const started: Instant = { mono: 1_000_000, wall: 0 };
const minutes = (count: number): Instant => shifted(started, count * 60_000);

describe("the reaction to memory use", () => {
  test.each([
    ["is nothing up to the soft limit", 100, undefined, 60, "fine"],
    ["is to drop caches beyond the soft limit", 101, undefined, 60, "relieve"],
    ["does not happen at every check", 140, 58, 60, "fine"],
    ["happens again after five minutes", 140, 55, 60, "relieve"],
    ["is to drop caches first beyond the hard limit, too", 200, undefined, 60, "relieve"],
    ["is nothing at the hard limit itself", 150, 58, 60, "fine"],
    ["is a new process if dropping caches did not help", 151, 59, 60, "restart"],
    ["is nothing soon after the start: a new process would be as large again", 151, 14, 14.9, "in vain"],
    ["is a new process a quarter of an hour later", 151, 14, 15, "restart"],
  ] as const)("%s", (_, rss, relieved, now, expected) => {
    const relievedAt = relieved === undefined ? undefined : minutes(relieved);
    expect(memoryStep({ rss, startedAt: started, relievedAt, growthSinceGc: undefined }, limits, minutes(now))).toBe(
      expected,
    );
  });

  test.each([
    ["is to collect garbage in a calm process that grew", 90, 800_000, "tidy"],
    ["is nothing in a calm process that grew a little", 90, 500_000, "fine"],
    ["is nothing in a process that has work to do", 90, undefined, "fine"],
    ["is to drop caches beyond the soft limit, even in a calm process", 101, 800_000, "relieve"],
  ] as const)("%s", (_, rss, grown, expected) => {
    expect(
      memoryStep({ rss, startedAt: started, relievedAt: undefined, growthSinceGc: grown }, limits, minutes(1)),
    ).toBe(expected);
  });
});

test("a follower collects garbage after its start, after a term, and whenever it has grown again", async () => {
  const clock = new FakeClock();
  const mib = 2 ** 20;
  let rss = 58 * mib;
  let isCalm = true;
  let tidied = 0;
  const guard = new MemoryGuard(
    { clock, log: new RecordingLog(), random: new SeededRandom() },
    {
      startedAt: clock.now(),
      limits: () => ({ soft: 100 * mib, hard: 150 * mib }),
      rss: () => rss,
      isCalm: () => isCalm,
      tidy: () => {
        tidied++;
        rss = Math.min(rss, 55 * mib);
      },
      shed: () => {
        throw new Error("nothing was too large");
      },
      restart: (why) => {
        throw new Error(why);
      },
    },
  );
  const stop = new AbortController();
  const running = guard.run(stop.signal);
  await clock.advance("15s");
  expect([tidied, rss / mib]).toEqual([1, 55]);
  await clock.advance("1h");
  expect(tidied).toBe(1);
  rss = 56 * mib;
  await clock.advance("15s");
  expect([tidied, rss / mib]).toEqual([2, 55]);
  // It leads now, and needs what it takes.
  isCalm = false;
  rss = 62 * mib;
  await clock.advance("1h");
  expect(tidied).toBe(2);
  isCalm = true;
  await clock.advance("15s");
  expect([tidied, rss / mib]).toEqual([3, 55]);
  stop.abort();
  await running;
});

test("an agent that grows drops its caches, and stops cleanly if that did not help", async () => {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const mib = 2 ** 20;
  let rss: number | undefined = 60 * mib;
  const happened: string[] = [];
  const guard = new MemoryGuard(
    { clock, log, random: new SeededRandom() },
    {
      startedAt: clock.now(),
      limits: () => ({ soft: 100 * mib, hard: 150 * mib }),
      rss: () => rss,
      isCalm: () => false,
      tidy: () => happened.push("tidy"),
      shed: () => happened.push("shed"),
      restart: (why) => happened.push(why),
    },
  );
  const stop = new AbortController();
  const running = guard.run(stop.signal);
  await clock.advance("1h");
  expect(happened).toEqual([]);
  rss = 151 * mib;
  await clock.advance("15s");
  expect(happened).toEqual(["shed", "tidy"]);
  await clock.advance("15s");
  expect(happened[2]).toBe("151 MiB of memory, more than memory.hard (150 MiB)");
  // Without a measurement nothing is done.
  rss = undefined;
  await clock.advance("1h");
  expect(happened).toHaveLength(3);
  stop.abort();
  await running;
});

test("a limit that is too low for the site is reported, without one restart after another", async () => {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const restarts: string[] = [];
  let rss = 200;
  const guard = new MemoryGuard(
    { clock, log, random: new SeededRandom() },
    {
      startedAt: clock.now(),
      limits: () => limits,
      rss: () => rss,
      isCalm: () => false,
      tidy: () => {},
      shed: () => {},
      restart: (why) => restarts.push(why),
    },
  );
  const stop = new AbortController();
  const running = guard.run(stop.signal);
  await clock.advance("5m");
  expect(guard.isInVain).toBe(true);
  expect(restarts).toEqual([]);
  expect(log.said("warn")).toHaveLength(1);
  rss = 120;
  await clock.advance("15s");
  expect(guard.isInVain).toBe(false);
  stop.abort();
  await running;
});
