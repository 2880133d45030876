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
  const writes: { readonly second: number; readonly status: Status; readonly text: string }[] = [];
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
        writes.push({ second: (clock.now().mono - start.mono) / 1000, status: JSON.parse(text), text });
      },
    },
  );
  const stop = new AbortController();
  const done = file.run(stop.signal);
  return { clock, log, writes, world, file, stop, done, seconds: () => writes.map(({ second }) => second) };
}

test("text from outside is escaped in the file, and keeps its meaning", async () => {
  const { clock, writes, world, stop, done } = agent();
  const reason = "\u202eevil\u2028\u009b31m\u007f";
  const freeze = { scope: "site", until: clock.now(), by: "ops:alice", reason } as const;
  world.changes = { holds: { freezes: [freeze], pauses: [], confirmed: [] } };
  await clock.advance("12s");
  expect(writes.at(-1)?.text).toContain('"\\u202eevil\\u2028\\u009b31m\\u007f"');
  expect(writes.at(-1)?.status.holds?.freezes[0]?.reason).toBe(reason);
  stop.abort();
  await done;
});

test("a quiet agent writes every thirty seconds", async () => {
  const { clock, seconds, stop, done } = agent();
  await clock.advance("95s");
  expect(seconds()).toEqual([0, 30, 60, 90]);
  stop.abort();
  await done;
  expect(clock.timers).toBe(0);
});

test("an unannounced change is written within ten seconds, and constant changes at most every ten seconds", async () => {
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

test("an announced change is written immediately, together with simultaneous changes, and so is the next one", async () => {
  const { clock, seconds, world, file, stop, done } = agent();
  await clock.advance("1s");
  world.changes = { problems: [{ type: "ApiUnreachable", severity: "warning", message: "refused" }] };
  file.changed();
  await clock.advance("50ms");
  file.changed();
  await clock.advance("1s");
  expect(seconds()).toEqual([0, 1.1]);
  world.changes = {};
  file.changed();
  await clock.advance("1s");
  expect(seconds()).toHaveLength(3);
  stop.abort();
  await done;
  expect(clock.timers).toBe(0);
});

test("a link that goes up and down every second does not wear out the file", async () => {
  const { clock, seconds, world, file, stop, done } = agent();
  for (let second = 0; second < 600; second++) {
    const problem = { type: "ApiUnreachable", severity: "warning", message: "refused" } as const;
    world.changes = second % 2 === 0 ? { problems: [problem] } : {};
    file.changed();
    await clock.advance("1s");
  }
  expect(seconds().length).toBeLessThanOrEqual(1 + 6 + 60 + 20);
  stop.abort();
  await done;
});

test("after a stop nothing is written, and the last status is kept", async () => {
  const { clock, writes, stop, done } = agent();
  await clock.advance("31s");
  stop.abort();
  await done;
  await clock.advance("5m");
  expect(writes).toHaveLength(2);
});

test("a full folder is logged once, counted and retried; the failures are in the next file", async () => {
  const { clock, log, writes, world, file, stop, done } = agent();
  await clock.advance("5s");
  world.failure = new Error("ENOSPC: no space left on device");
  await clock.advance("2m");
  expect(writes).toHaveLength(1);
  expect(log.said("warn")).toEqual(["the status file cannot be written"]);
  const missed = file.failures;
  expect(missed).toBeGreaterThanOrEqual(9);

  world.failure = undefined;
  await clock.advance("10s");
  expect(log.said("info")).toEqual(["the status file can be written again"]);
  expect(writes.at(-1)?.status).toMatchObject({
    writeFailures: missed,
    health: { level: "ok", conditions: [{ type: "StatusNotWritten", severity: "info" }] },
  });
  stop.abort();
  await done;
});

test("a part that throws does not end the agent", async () => {
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

test("write() writes immediately, even without a change", async () => {
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
