import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Clock, SystemClock } from "../../../agent/base/clock.ts";
import type { ChildOptions, ProgramOutput } from "../../../agent/board/child.ts";
import type { ClockState } from "../../../agent/board/clock-sync.ts";
import { inventorySchema } from "../../../agent/board/inventory.ts";
import { type Cron, parseCron } from "../../../agent/config/cron.ts";
import { InventoryTask } from "../../../agent/upkeep/inventory-task.ts";
import { inPortions, type Portions } from "../../../agent/upkeep/portions.ts";
import { integrityCheck } from "../../../agent/upkeep/tasks.ts";
import { utc } from "../../../agent/upkeep/time-zone.ts";
import { Upkeep } from "../../../agent/upkeep/upkeep.ts";
import { StateFolder } from "../../../storage/state-folder.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const nightly = scheduleOf("17 3 * * *");

function scheduleOf(written: string): Cron {
  const cron = parseCron(written);
  if (!cron) throw new Error(`no schedule: ${written}`);
  return cron;
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function board({ wall = "2026-11-20T12:00:00Z", synced = true } = {}) {
  const clock = new FakeClock(wall);
  const done: string[] = [];
  const state: { clock: ClockState; takes: number } = { clock: synced ? "synced" : "unsynced", takes: 0 };
  const end = new AbortController();
  const upkeep = new Upkeep(
    { clock, log: new RecordingLog(), random: new SeededRandom(1) },
    {
      schedule: nightly,
      zone: utc,
      clock: () => state.clock,
      tasks: [
        {
          name: "look",
          run: async (signal) => {
            done.push(new Date(clock.now().wall).toISOString().slice(0, 16));
            await new Promise<void>((resolve) => {
              clock.after(state.takes, resolve);
              signal.addEventListener("abort", () => resolve(), { once: true });
            });
          },
        },
      ],
    },
  );
  void upkeep.run(end.signal);
  stops.push(() => end.abort());
  return { clock, done, state };
}

test("maintenance is done once each night", async () => {
  const { clock, done } = board();
  await clock.advance("3d");
  expect(done).toEqual(["2026-11-21T03:17", "2026-11-22T03:17", "2026-11-23T03:17"]);
});

test("a long maintenance is not started a second time, and the next night is not skipped", async () => {
  const { clock, done, state } = board();
  state.takes = 20 * 3_600_000;
  await clock.advance("3d");
  expect(done).toHaveLength(3);
});

test("setting the clock forward does not make up for missed maintenance, and setting it back does not repeat any", async () => {
  const { clock, done } = board({ wall: "2026-11-20T01:00:00Z" });
  clock.setWall("2026-12-24T12:00:00Z");
  await clock.advance("10m");
  expect(done).toEqual([]);
  clock.setWall("2026-12-25T03:16:30Z");
  await clock.advance("2m");
  expect(done).toHaveLength(1);
  clock.setWall("2026-12-25T03:00:00Z");
  await clock.advance("10m");
  expect(done).toHaveLength(1);
});

test("a board whose clock has never been set still does its maintenance once a day", async () => {
  const { clock, done } = board({ wall: "1970-01-01T03:10:00Z", synced: false });
  await clock.advance("23h");
  expect(done).toEqual([]);
  await clock.advance("2h");
  expect(done).toHaveLength(1);
  await clock.advance("1d");
  expect(done).toHaveLength(2);
});

test("portions grow while they are quick, shrink after a slow one, and stop with the agent", async () => {
  let mono = 0;
  // Work takes time of its own here, which the clock of stories does not know.
  const clock: Clock = {
    now: () => ({ mono, wall: mono }),
    after: (delay, run) => {
      mono += delay;
      queueMicrotask(run);
      return { cancel: () => undefined };
    },
  };
  const asked: number[] = [];
  function* work(): Portions {
    for (let i = 0; i < 40; i++) {
      const size = yield;
      asked.push(size);
      // Half a millisecond for each; the medium hesitates once.
      mono += size / 2 + (i === 20 ? 200 : 0);
    }
  }
  const around = { clock, log: new RecordingLog(), random: new SeededRandom(1) };
  const longest = await inPortions(around, work(), new AbortController().signal);
  expect(asked.slice(0, 4)).toEqual([4, 8, 16, 16]);
  expect(asked.slice(20, 23)).toEqual([16, 8, 16]);
  expect(longest).toBe(208);
  const stopped = new AbortController();
  asked.length = 0;
  stopped.abort();
  await inPortions(around, work(), stopped.signal);
  expect(asked).toEqual([]);
});

test("databases of a large site are read through without blocking for 50 ms", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-upkeep-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const opened = StateFolder.open({
    folder,
    stamp: "1",
    pragmas: { cacheKiB: 512, mmapMiB: 0, walAutocheckpointPages: 2000, journalSizeLimitKiB: 4096 },
  });
  const { database } = opened.cache;
  database.transaction(() => {
    const insert = database.prepare(
      "INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, 'u', '1', ?)",
    );
    for (let i = 0; i < 4000; i++) insert.run(`default/pod-${i}`, JSON.stringify("x".repeat(2000 + ((i * 31) % 6000))));
  });
  const log = new RecordingLog();
  // The pauses between the portions are not waited for: how long a portion takes is real.
  const real = new SystemClock();
  const clock = { now: () => real.now(), after: (_: number, run: () => void) => real.after(0, run) };
  const task = integrityCheck({ clock, log, random: new SeededRandom(1) }, database);
  // The best of three: the machine may have other work.
  for (let run = 0; run < 3; run++) await task.run(new AbortController().signal);
  const lines = log.lines.filter(({ message }) => message === "database checked");
  expect(lines).toHaveLength(3);
  expect(Math.min(...lines.map(({ fields }) => Number(fields.longestStepMs)))).toBeLessThan(50);
  opened.close();
});

test("damage found at night ends the agent's life, so that the next one rebuilds the cache", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-upkeep-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const pragmas = { cacheKiB: 64, mmapMiB: 0, walAutocheckpointPages: 2000, journalSizeLimitKiB: 4096 };
  const opened = StateFolder.open({ folder, stamp: "1", pragmas });
  const { database } = opened.cache;
  database.transaction(() => {
    const insert = database.prepare(
      "INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, 'u', '1', ?)",
    );
    for (let i = 0; i < 1000; i++) insert.run(`default/pod-${i}`, JSON.stringify("x".repeat(2000)));
  });
  database.checkpoint();
  // The card loses a stretch in the middle of the file.
  const handle = openSync(database.file, "r+");
  writeSync(handle, Buffer.alloc(64 * 1024), 0, 64 * 1024, 1024 * 1024);
  closeSync(handle);
  const clock = new FakeClock("2026-11-20T03:00:00Z");
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(1) };
  const upkeep = new Upkeep(ambient, {
    schedule: nightly,
    zone: utc,
    clock: () => "synced",
    tasks: [integrityCheck(ambient, opened.state.database), integrityCheck(ambient, database)],
  });
  let failure: unknown;
  void upkeep.run(new AbortController().signal).catch((error: unknown) => {
    failure = error;
  });
  await clock.advance("2h");
  expect(failure).toMatchObject({ name: "StorageError", kind: "damaged", disposition: "rebuild" });
  database.closeWithoutCheckpoint();
  opened.state.database.close();
});

const whole = { schema: inventorySchema, system: { manufacturer: "acme", model: "box", serial: "1" }, disks: [] };

function inventoryOf(
  outcome: ProgramOutput | (() => ProgramOutput),
  kept = new Map<string, string>(),
  boot = "boot-1",
) {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const looks: ChildOptions[] = [];
  const task = new InventoryTask(
    { clock, log, random: new SeededRandom(1) },
    {
      facts: {
        get: (area, key) => kept.get(`${area}/${key}`),
        set: (area, key, value) => void kept.set(`${area}/${key}`, value),
      },
      bootId: boot,
      collect: async (options) => {
        looks.push(options);
        return typeof outcome === "function" ? outcome() : outcome;
      },
    },
  );
  const end = new AbortController();
  stops.push(() => end.abort());
  return { clock, log, looks, task, kept, signal: end.signal };
}

test("the inventory is taken after a boot, not after each start of the agent, and is stored", async () => {
  const first = inventoryOf({ output: JSON.stringify(whole) });
  const running = first.task.afterBoot(first.signal);
  await first.clock.advance("30s");
  expect(first.looks).toEqual([]);
  await first.clock.advance("90s");
  await running;
  expect(first.looks).toHaveLength(1);
  expect(first.task.inventory?.system.model).toBe("box");
  const again = inventoryOf({ output: "" }, first.kept);
  await again.task.afterBoot(again.signal);
  expect([again.looks.length, again.task.inventory?.system.model]).toEqual([0, "box"]);
  const reboot = inventoryOf({ output: JSON.stringify(whole) }, first.kept, "boot-2");
  const looking = reboot.task.afterBoot(reboot.signal);
  await reboot.clock.advance("2m");
  await looking;
  expect(reboot.looks).toHaveLength(1);
});

test("a child that fails or prints garbage leaves the previous inventory in place, and is reported", async () => {
  const good = inventoryOf({ output: JSON.stringify(whole) });
  await good.task.run(good.signal);
  const bad = inventoryOf({ failed: "it did not end within 60 s" }, good.kept);
  await bad.task.run(bad.signal);
  expect(bad.log.said("warn")).toEqual(["the inventory cannot be collected"]);
  const odd = inventoryOf({ output: "Segmentation fault" }, good.kept);
  await odd.task.run(odd.signal);
  expect(odd.log.said("warn")).toEqual(["the inventory cannot be collected"]);
  expect(odd.task.inventory?.system.manufacturer).toBe("acme");
});
