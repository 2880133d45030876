import { expect, test } from "vitest";
import type { Parts } from "../../../agent/status/parts.ts";
import type { Status } from "../../../agent/status/schema.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { StatusFile } from "../../../agent/status/status-file.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { healthy } from "../../support/site-status.ts";

/** A status file on a folder that can fail, with a clock that a test moves. */
function agent() {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const writes: { readonly second: number; readonly status: Status }[] = [];
  const start = clock.now();
  const world = { changes: {} as Partial<Parts>, failure: undefined as Error | undefined };
  const file = new StatusFile(
    { clock, log, random: new SeededRandom() },
    {
      file: "/run/siteward/status.json",
      limits: { minInterval: 10_000, every: 30_000 },
      take: (before, writeFailures) => {
        const parts = healthy(world.changes, clock.now());
        return snapshot({ ...parts, process: { ...parts.process, writeFailures } }, before);
      },
      replace: (_, text) => {
        if (world.failure) throw world.failure;
        writes.push({ second: (clock.now().mono - start.mono) / 1000, status: JSON.parse(text) });
      },
    },
  );
  const stop = new AbortController();
  const done = file.run(stop.signal);
  return { clock, log, writes, world, file, stop, done, seconds: () => writes.map(({ second }) => second) };
}

test("a quiet agent writes every thirty seconds", async () => {
  const { clock, seconds, stop, done } = agent();
  await clock.advance("95s");
  expect(seconds()).toEqual([0, 30, 60, 90]);
  stop.abort();
  await done;
  expect(clock.timers).toBe(0);
});

test("news that nobody tells of is found within ten seconds, and constant news written at most every ten", async () => {
  const { clock, seconds, world, stop, done } = agent();
  await clock.advance("12s");
  for (let queue = 1; queue <= 40; queue++) {
    world.changes = { eviction: { queue, pending: 0, held: undefined } };
    await clock.advance("1s");
  }
  expect(seconds()).toEqual([0, 20, 30, 40, 50]);
  stop.abort();
  await done;
});

test("news that is told is written at once, what comes with it included, and the next one too", async () => {
  const { clock, seconds, world, file, stop, done } = agent();
  await clock.advance("1s");
  world.changes = { problems: [{ type: "ApiUnreachable", severity: "warning", message: "refused" }] };
  file.news();
  await clock.advance("50ms");
  file.news();
  await clock.advance("1s");
  expect(seconds()).toEqual([0, 1.1]);
  world.changes = {};
  file.news();
  await clock.advance("1s");
  expect(seconds()).toHaveLength(3);
  stop.abort();
  await done;
  expect(clock.timers).toBe(0);
});

test("a link that comes and goes every second does not wear out the file", async () => {
  const { clock, seconds, world, file, stop, done } = agent();
  for (let second = 0; second < 600; second++) {
    const problem = { type: "ApiUnreachable", severity: "warning", message: "refused" } as const;
    world.changes = second % 2 === 0 ? { problems: [problem] } : {};
    file.news();
    await clock.advance("1s");
  }
  expect(seconds().length).toBeLessThanOrEqual(1 + 6 + 60 + 20);
  stop.abort();
  await done;
});

test("after a stop nothing is written any more, and the last status stays", async () => {
  const { clock, writes, stop, done } = agent();
  await clock.advance("31s");
  stop.abort();
  await done;
  await clock.advance("5m");
  expect(writes).toHaveLength(2);
});

test("a full folder is said once, counted, and tried again; what was missed is told in the file", async () => {
  const { clock, log, writes, world, file, stop, done } = agent();
  await clock.advance("5s");
  world.failure = new Error("ENOSPC: no space left on device");
  await clock.advance("2m");
  expect(writes).toHaveLength(1);
  expect(log.said("warn")).toEqual(["status file cannot be written"]);
  const missed = file.failures;
  expect(missed).toBeGreaterThanOrEqual(9);

  world.failure = undefined;
  await clock.advance("10s");
  expect(log.said("info")).toEqual(["status file written again"]);
  expect(writes.at(-1)?.status).toMatchObject({
    writeFailures: missed,
    health: { level: "ok", conditions: [{ type: "StatusNotWritten", severity: "info" }] },
  });
  stop.abort();
  await done;
});

test("a part that cannot be asked does not end the agent", async () => {
  const { clock, writes, world, file, stop, done } = agent();
  world.changes = { now: { mono: Number.NaN, wall: Number.NaN } };
  await clock.advance("20s");
  expect(file.failures).toBeGreaterThan(0);
  world.changes = {};
  await clock.advance("10s");
  expect(writes.length).toBeGreaterThan(1);
  stop.abort();
  await done;
});

test("write() writes at once, also when nothing changed", async () => {
  const { clock, seconds, file, stop, done } = agent();
  await clock.advance("3s");
  file.write();
  expect(seconds()).toEqual([0, 3]);
  await clock.advance("29s");
  expect(seconds()).toEqual([0, 3]);
  await clock.advance("2s");
  expect(seconds()).toEqual([0, 3, 33]);
  stop.abort();
  await done;
});
