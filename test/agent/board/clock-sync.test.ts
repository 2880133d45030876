import { expect, test } from "vitest";
import { ClockSync } from "../../../agent/board/clock-sync.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const marker = "/run/systemd/timesync/synchronized";

function board({ isTrusted = false, hasMarker = false, answer = undefined as string | undefined } = {}) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const world = { hasMarker, answer, runs: 0, changes: 0 };
  const sync = new ClockSync(
    { clock, log, random: new SeededRandom(1) },
    {
      isTrusted,
      read: (file) => (file === marker && world.hasMarker ? "" : undefined),
      ask: async () => {
        world.runs++;
        return world.answer;
      },
      changed: () => world.changes++,
    },
  );
  return { clock, log, world, sync };
}

test("timesyncd's marker is used immediately, and timedatectl is not run", async () => {
  const { sync, world, clock } = board({ hasMarker: true });
  expect(sync.view()).toEqual({ state: "synced", source: "timesyncd" });
  await sync.run(new AbortController().signal);
  await clock.advance("10m");
  expect(world.runs).toBe(0);
});

test("without the marker timedatectl runs every 30 s until it reports the clock synchronised, and never again", async () => {
  const { sync, world, clock, log } = board({ answer: "no\n" });
  const running = sync.run(new AbortController().signal);
  await clock.advance("89s");
  expect([sync.state(), world.runs]).toEqual(["unsynced", 3]);
  world.answer = "yes\n";
  await clock.advance("30s");
  await running;
  expect(sync.view()).toEqual({ state: "synced", source: "ntp" });
  await clock.advance("1h");
  expect([world.runs, world.changes]).toEqual([4, 1]);
  expect(log.said("info")).toEqual(["clock synced"]);
});

test("a board with neither remains unsynchronised until the marker appears, which it notices immediately", async () => {
  const { sync, world, clock } = board();
  const stop = new AbortController();
  const running = sync.run(stop.signal);
  await clock.advance("5m");
  expect(sync.state()).toBe("unsynced");
  world.hasMarker = true;
  expect(sync.state()).toBe("synced");
  world.hasMarker = false;
  expect(sync.state()).toBe("synced");
  stop.abort();
  await running;
});

test("a clock configured as trusted is trusted from the start, and timedatectl is not run", async () => {
  const { sync, world } = board({ isTrusted: true });
  await sync.run(new AbortController().signal);
  expect(sync.view()).toEqual({ state: "synced", source: "configured" });
  expect([world.runs, world.changes]).toEqual([0, 0]);
});
