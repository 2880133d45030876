import { afterEach, expect, test } from "vitest";
import { BoardWatch } from "../../../agent/companions/board-watch.ts";
import { loadConfig } from "../../../agent/config/load.ts";
import { withContributions } from "../../../agent/status/contribution.ts";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { BoardTree, type Change } from "../../support/board-tree.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { healthy } from "../../support/site-status.ts";

const trees: BoardTree[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) tree.remove();
});

const synced: Change = { "/run/systemd/timesync/synchronized": "" };

function watchOf(board: string, change: Change = synced, env: Readonly<Record<string, string>> = {}) {
  const tree = new BoardTree(board, change);
  trees.push(tree);
  const clock = new FakeClock("2026-11-20T23:30:00Z");
  const { config } = loadConfig({ file: undefined, env, hostname: "pi-1", profile: undefined });
  const ambient = { clock, log: new RecordingLog(), random: new SeededRandom(1) };
  const watch = new BoardWatch(ambient, { config, statusChanged: () => undefined, files: tree.files });
  watch.look();
  return { watch, clock, tree };
}

function statusOf({ watch, clock }: ReturnType<typeof watchOf>) {
  const now = clock.now();
  const parts = healthy();
  return snapshot({ ...withContributions(parts, [watch.contribution(now)]), now }, undefined);
}

test("the status shows what the board's sensors measure", () => {
  const status = statusOf(watchOf("raspberry-pi-4-2g"));
  expect(status.clock).toMatchObject({ state: "synced", source: "timesyncd" });
  expect(status.board).toMatchObject({
    compatible: "raspberrypi,4-model-b",
    tempC: 48.7,
    tempZone: "cpu-thermal",
    throttled: { now: ["undervoltage"], sinceBoot: ["undervoltage", "throttled"] },
    storage: { dev: "mmcblk0", kind: "sd", readOnly: false },
    loadavg1: 0.42,
  });
  expect(status.memory).toMatchObject({ cgroup: "on", psiSome10: 0 });
  expect(status.health.conditions.find(({ type }) => type === "UnderVoltage")).toMatchObject({
    severity: "warning",
    message: "the supply voltage is too low: now",
    hint: expect.stringContaining("5.1 V"),
  });
});

test("the status shows a disabled memory cgroup and an overlay", () => {
  expect(statusOf(watchOf("raspberry-pi-zero-2-w")).health.conditions.map(({ type }) => type)).toContain(
    "MemoryCgroupOff",
  );
  const overlay = statusOf(watchOf("compute-module-4-emmc"));
  expect(overlay.journal?.persistence).toBe("volatile");
  expect(overlay.health.conditions.map(({ type }) => type)).toContain("StateVolatile");
});

test("a Jetson's rails are shown by name", () => {
  expect(statusOf(watchOf("jetson-orin-nano-8g")).board?.rails).toEqual([
    { label: "VDD_IN", milliwatts: 4888 },
    { label: "VDD_CPU_GPU_CV", milliwatts: 521 },
  ]);
});

test("before the first sample only the clock is shown", () => {
  const tree = new BoardTree("raspberry-pi-4-2g");
  trees.push(tree);
  const { config } = loadConfig({ file: undefined, env: {}, hostname: "pi-1", profile: undefined });
  const ambient = { clock: new FakeClock(), log: new RecordingLog(), random: new SeededRandom(1) };
  const watch = new BoardWatch(ambient, { config, statusChanged: () => undefined, files: tree.files });
  expect(watch.contribution(ambient.clock.now())).toEqual({ clock: { state: "unsynced" } });
  expect(watch.conditions(ambient.clock.now())).toBeUndefined();
});

test("quiet hours come from the configuration; while the time is unknown they apply, with a message", () => {
  const night = { SITEWARD_QUIET_HOURS_WINDOWS: "0 22 * * * for 8h", SITEWARD_BOARD_TIME_ZONE: "UTC" };
  const quiet = watchOf("raspberry-pi-4-2g", synced, night);
  const now = quiet.clock.now();
  expect(quiet.watch.quietHoursAt(now)?.until?.wall).toBe(Date.parse("2026-11-21T06:00:00Z"));
  expect(quiet.watch.contribution(now).problems?.map(({ type }) => type)).not.toContain("QuietHoursUnknown");

  const unset = watchOf("raspberry-pi-4-2g", {}, night);
  expect(unset.watch.quietHoursAt(now)).toMatchObject({ until: undefined });
  expect(unset.watch.contribution(now).problems).toContainEqual({
    type: "QuietHoursUnknown",
    severity: "warning",
    message:
      "no pod is evicted because its board is lost or not ready, as in quiet hours: the clock is not synchronised, so this board does not know whether quiet hours have begun",
  });

  const nowhere = watchOf("raspberry-pi-4-2g", synced, { ...night, SITEWARD_BOARD_TIME_ZONE: "Europe/Berln" });
  expect(nowhere.watch.quietHoursAt(now)?.why).toContain("board.timeZone");
  expect(watchOf("raspberry-pi-4-2g").watch.quietHoursAt(now)).toBeUndefined();
});
