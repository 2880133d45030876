import { afterEach, expect, test } from "vitest";
import { boardProblems } from "../../../agent/board/board-problems.ts";
import { BoardSampler } from "../../../agent/board/board-sampler.ts";
import type { ClockState } from "../../../agent/board/clock-sync.ts";
import { nodeConditions } from "../../../agent/board/node-conditions.ts";
import { BoardTree } from "../../support/board-tree.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const alarm = "/sys/devices/platform/soc/soc:firmware/raspberrypi-hwmon/hwmon/hwmon1/in0_lcrit_alarm";
const temp = "/sys/devices/virtual/thermal/thermal_zone0/temp";
const limits = { temperature: { warn: 75, critical: 82, belowTrip: 5 }, freeSpace: 1, pressure: 20 };

let story: Story | undefined;
afterEach(() => story?.end());

/** A board whose sensors are read every 15 seconds. */
class Story {
  readonly clock: FakeClock;
  readonly log = new RecordingLog();
  readonly tree: BoardTree;
  readonly sampler: BoardSampler;
  readonly startedAt;
  synced: ClockState = "synced";
  changed = 0;
  readonly #end = new AbortController();

  constructor(board: string, { every = 15_000, wall = "2026-11-20T12:00:00Z" } = {}) {
    this.clock = new FakeClock(wall);
    this.startedAt = this.clock.now();
    this.tree = new BoardTree(board);
    this.sampler = new BoardSampler(
      { clock: this.clock, log: this.log, random: new SeededRandom(1) },
      {
        files: this.tree.files,
        folder: "/var/lib/siteward",
        limits,
        every,
        clock: () => this.synced,
        changed: () => this.changed++,
      },
    );
    void this.sampler.run(this.#end.signal);
    story = this;
  }

  end(): void {
    this.#end.abort();
    this.tree.remove();
  }

  get sickness(): string | undefined {
    return this.sampler.sickness()?.why;
  }

  get #view() {
    const readings = this.sampler.readings();
    if (!readings) throw new Error("nothing was read");
    return { readings, standings: this.sampler.standings(), limits, clock: this.synced, startedAt: this.startedAt };
  }

  conditions(): Readonly<Record<string, string>> {
    return Object.fromEntries(nodeConditions(this.#view, this.clock.now()).map(({ type, status }) => [type, status]));
  }

  problems(): readonly string[] {
    return boardProblems(this.#view, this.clock.now()).map(({ type, message }) => `${type}: ${message}`);
  }
}

test("a healthy board is not unwell and reports good conditions", async () => {
  const { clock } = new Story("raspberry-pi-3-b-plus");
  await clock.advance("10m");
  expect(story?.sickness).toBeUndefined();
  expect(story?.problems()).toEqual([]);
  expect(story?.conditions()).toEqual({
    PowerUndervoltage: "False",
    ThermalThrottled: "False",
    StorageVolatile: "False",
    ClockUnsynced: "False",
  });
  expect(story?.log.said("warn")).toEqual([]);
  expect(story?.changed).toBe(0);
});

test("one spike of undervoltage does not make a board unwell; undervoltage that recurs within two minutes does, until it ends", async () => {
  const one = new Story("raspberry-pi-3-b-plus");
  one.tree.set({ [alarm]: "1\n" });
  await one.clock.advance("15s");
  expect(one.sickness).toBeUndefined();
  expect(one.problems()).toEqual(["UnderVoltage: the supply voltage is too low: now"]);
  one.tree.set({ [alarm]: "0\n" });
  await one.clock.advance("90s");
  one.tree.set({ [alarm]: "1\n" });
  await one.clock.advance("15s");
  expect(one.sickness).toBe("undervolted");
  // Since it was first seen, not since that was believed.
  expect(one.sampler.sickness()?.since.mono).toBe(one.startedAt.mono + 15_000);
  one.tree.set({ [alarm]: "0\n" });
  await one.clock.advance("2m");
  expect(one.sickness).toBe("undervolted");
  await one.clock.advance("15s");
  expect(one.sickness).toBeUndefined();
  expect(one.problems()).toEqual([
    "UnderVoltage: the supply voltage is too low: seen 2x since the agent started, not now",
  ]);
  expect(one.log.said()).toEqual(["board unwell", "board recovered"]);
});

test("Kubernetes sees undervoltage for ten minutes after its last occurrence, without flickering", async () => {
  const one = new Story("raspberry-pi-3-b-plus");
  const seen: string[] = [];
  for (let minute = 0; minute < 30; minute++) {
    // A supply that gives way for a moment every few minutes, for a quarter of an hour.
    one.tree.set({ [alarm]: minute < 15 && minute % 3 === 0 ? "1\n" : "0\n" });
    await one.clock.advance("1m");
    seen.push(one.conditions().PowerUndervoltage ?? "?");
  }
  const changes = seen.filter((status, at) => at > 0 && status !== seen[at - 1]);
  expect(changes).toEqual(["False"]);
  expect(seen.at(-1)).toBe("False");
  expect(seen[0]).toBe("True");
});

test.each([
  ["every 6 minutes", 6],
  ["every 12 minutes", 12],
  ["every 50 minutes", 50],
])("a supply that fails twice within a minute, %s, makes the board steadily unwell", async (_, every) => {
  const one = new Story("raspberry-pi-3-b-plus", { every: 30_000 });
  const seen: string[] = [];
  const look = async (hours: number): Promise<void> => {
    for (let at = 0; at < hours * 120; at++) {
      const isLow = hours === 24 && at % (2 * every) < 2;
      one.tree.set({ [alarm]: isLow ? "1\n" : "0\n" });
      await one.clock.advance("30s");
      seen.push(`${one.sickness !== undefined} ${one.conditions().PowerUndervoltage}`);
    }
  };
  const changes = (): number => seen.filter((state, at) => at > 0 && state !== seen[at - 1]).length;
  await look(24);
  expect(changes()).toBeLessThanOrEqual(16);
  // During the last eighteen hours it was reported without interruption.
  expect(new Set(seen.slice(-18 * 120))).toEqual(new Set(["true True"]));
  seen.length = 0;
  // With a good supply the sign ends on the same day.
  await look(12);
  expect([changes(), seen.at(-1)]).toEqual([2, "false False"]);
  one.tree.set({ [alarm]: "1\n" });
  await one.clock.advance("1m");
  one.tree.set({ [alarm]: "0\n" });
  await one.clock.advance("3m");
  expect(one.sickness).toBeUndefined();
});

test("a board that starts in 1970 does not lead until its clock is set; a board that is hours behind may", async () => {
  const one = new Story("raspberry-pi-3-b-plus", { wall: "1970-01-01T00:00:10Z" });
  one.synced = "unsynced";
  await one.clock.advance("30s");
  expect(one.sickness).toBe("its clock has never been set");
  one.clock.setWall("2026-11-20T12:00:00Z");
  one.synced = "synced";
  await one.clock.advance("3m");
  expect(one.sickness).toBeUndefined();
  one.end();
  const other = new Story("raspberry-pi-3-b-plus", { wall: "2026-11-20T03:00:00Z" });
  other.synced = "unsynced";
  await other.clock.advance("3m");
  expect(other.sickness).toBeUndefined();
  expect(other.conditions().ClockUnsynced).toBeUndefined();
  await other.clock.advance("10m");
  expect(other.conditions().ClockUnsynced).toBe("True");
  expect(other.problems()[0]).toContain("ClockUnsynced");
});

test("a Pi counts as too warm at the limit in its profile, because its firmware throttles it before the kernel would switch it off", async () => {
  const one = new Story("raspberry-pi-3-b-plus");
  one.tree.set({ [temp]: "74900\n" });
  await one.clock.advance("1m");
  expect(one.problems()).toEqual([]);
  one.tree.set({ [temp]: "75000\n" });
  await one.clock.advance("1m");
  expect(one.problems()).toEqual(["TemperatureHigh: cpu-thermal: 75 °C, more than 75 °C"]);
  one.tree.set({ [temp]: "83000\n" });
  await one.clock.advance("1m");
  expect(one.problems()).toEqual(["TemperatureHigh: cpu-thermal: 83 °C, more than 82 °C"]);
  expect(one.sickness).toBeUndefined();
});

test("a Jetson at its passive trip point is throttled: it is hot and unwell", async () => {
  const one = new Story("jetson-orin-nx-16g");
  await one.clock.advance("1m");
  expect(one.sickness).toBe("throttled");
  expect(one.conditions()).toMatchObject({ ThermalThrottled: "True" });
  expect(one.conditions().PowerUndervoltage).toBeUndefined();
  expect(one.problems()).toContain("TemperatureHigh: cpu-thermal: 99.5 °C, more than 99 °C");
});

test("a card that turned read-only makes the board unwell, before anything else does", async () => {
  const one = new Story("raspberry-pi-4-2g");
  await one.clock.advance("15s");
  expect(one.sickness).toBe("undervolted");
  one.tree.set({ "/proc/self/mountinfo": "21 1 179:2 / / ro,noatime - ext4 /dev/root ro\n" });
  await one.clock.advance("5m");
  expect(one.sickness).toBe("its storage is read-only");
  const isTold = (): boolean => one.problems().some((problem) => problem.startsWith("StorageReadOnly"));
  expect(isTold()).toBe(true);
  // After a repair the next sample clears the sign, so that the board may lead again at once.
  one.tree.set({ "/proc/self/mountinfo": "21 1 179:2 / / rw,noatime - ext4 /dev/root rw\n" });
  await one.clock.advance("1m");
  expect(isTold()).toBe(false);
});

test("with the slowest sampling, two samples are still enough to make a board unwell", async () => {
  const one = new Story("raspberry-pi-4-2g", { every: 600_000 });
  await one.clock.advance("10m");
  expect(one.sickness).toBe("undervolted");
});

test("an overlay in memory and a worn eMMC are reported to Kubernetes", async () => {
  const one = new Story("compute-module-4-emmc");
  await one.clock.advance("1m");
  expect(one.conditions()).toMatchObject({ StorageVolatile: "True" });
  one.tree.set({ "/proc/self/mountinfo": "20 1 179:2 / / rw - ext4 /dev/mmcblk0p2 rw\n" });
  await one.clock.advance("5m");
  expect(one.conditions()).toMatchObject({ StorageVolatile: "False", StorageWearHigh: "True" });
  expect(one.problems()).toEqual([
    "StorageWearHigh: mmcblk0: 90 % of the storage's rated life is used, its spare blocks are nearly used up (warning)",
  ]);
});

test("bytes written within a day are counted, and older days are dropped", async () => {
  const one = new Story("raspberry-pi-zero-2-w", { every: 600_000 });
  const wrote = (mebibytes: number): void => one.tree.set({ "/proc/self/io": `write_bytes: ${mebibytes * 2 ** 20}\n` });
  expect(one.sampler.bytesWrittenLastDay).toBe(7 * 2 ** 20);
  wrote(27);
  await one.clock.advance("12h");
  expect(one.sampler.bytesWrittenLastDay).toBe(27 * 2 ** 20);
  wrote(30);
  await one.clock.advance("36h");
  expect(one.sampler.bytesWrittenLastDay).toBe(0);
});
