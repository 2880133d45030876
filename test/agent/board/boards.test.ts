import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { compatibles, ramBytes } from "../../../agent/board/facts.ts";
import { profileFor, readProfiles } from "../../../agent/board/profile/profile.ts";
import { readBoard } from "../../../agent/board/sensors/read-board.ts";
import { BoardTree, type Change } from "../../support/board-tree.ts";

const shipped = readProfiles(path.resolve(import.meta.dirname, "../../../firmware-profiles"), "/nowhere").profiles;
const trees: BoardTree[] = [];
afterAll(() => {
  for (const tree of trees) tree.remove();
});

function tree(board: string, change?: Change): BoardTree {
  const made = new BoardTree(board, change);
  trees.push(made);
  return made;
}

const folder = "/var/lib/siteward";
const at = { mono: 1000, wall: 0 };
const read = (board: string, change?: Change) => readBoard(tree(board, change).files, folder, at);

function profileOf({ files }: BoardTree): string | undefined {
  const ram = ramBytes(files.read);
  const facts = { compatible: compatibles(files.read), ramMiB: ram && Math.round(ram / 2 ** 20) };
  return profileFor(facts, shipped)?.id;
}

test.each([
  ["raspberry-pi-zero-2-w", "raspberry-pi-zero-2-w"],
  ["raspberry-pi-3-b-plus", "raspberry-pi-3-b-plus"],
  ["raspberry-pi-4-2g", "raspberry-pi-4"],
  ["compute-module-4-emmc", "raspberry-pi-4"],
  ["raspberry-pi-5-8g-nvme", "raspberry-pi-5"],
  ["jetson-orin-nano-8g", "jetson-orin-nano"],
  ["jetson-orin-nx-16g", "jetson-orin-nx"],
  ["jetson-agx-orin-64g", "jetson-agx-orin"],
  ["generic-x86", "generic"],
])("%s is recognised as %s", (board, id) => {
  expect(profileOf(tree(board))).toBe(id);
});

test.each([
  ["a Compute Module 4 of 1 GiB", "compute-module-4-emmc", "MemTotal: 930000 kB\n", "raspberry-pi-4-1g"],
  ["an Orin NX of 8 GiB", "jetson-orin-nx-16g", "MemTotal: 7802100 kB\n", "jetson-orin-nx"],
  ["a Pi of unexpected RAM", "raspberry-pi-zero-2-w", "MemTotal: 8000000 kB\n", "generic"],
  ["a PC with 512 MiB", "generic-x86", "MemTotal: 480000 kB\n", "generic-tiny"],
  ["a PC with 1 GiB", "generic-x86", "MemTotal: 1000000 kB\n", "generic-small"],
])("%s is identified by its RAM", (_, board, meminfo, id) => {
  expect(profileOf(tree(board, { "/proc/meminfo": meminfo }))).toBe(id);
});

test("a carrier board that names only its chip is identified by the chip and its RAM", () => {
  const compatible = "/sys/firmware/devicetree/base/compatible";
  const carrier = (board: string, chip: string) => profileOf(tree(board, { [compatible]: `acme,box\0${chip}\0` }));
  expect(carrier("jetson-orin-nano-8g", "nvidia,tegra234")).toBe("jetson-orin-nano");
  expect(carrier("jetson-agx-orin-64g", "nvidia,tegra234")).toBe("jetson-agx-orin");
  expect(carrier("raspberry-pi-4-2g", "brcm,bcm2711")).toBe("raspberry-pi-4");
  expect(carrier("raspberry-pi-5-8g-nvme", "brcm,bcm2712")).toBe("raspberry-pi-5");
});

test("on a Zero 2 W without the voltage driver, the firmware's bits show present and past conditions", () => {
  const { power, temperature, storage, pressure, hasMemoryCgroup, writtenBytes, load1 } = read("raspberry-pi-zero-2-w");
  expect(power).toEqual({ now: ["undervoltage", "throttled"], sinceBoot: ["undervoltage", "throttled"] });
  // The firmware slows it down; the kernel names only the point at which it is switched off.
  expect(temperature).toEqual({ zone: "cpu-thermal", celsius: 61.2, slowsAt: undefined, stopsAt: 90 });
  expect(storage).toMatchObject({
    device: "mmcblk0",
    kind: "sd",
    fileSystem: "ext4",
    isVolatile: false,
    isReadOnly: false,
    wear: undefined,
  });
  expect(storage.freeBytes).toBeGreaterThan(0);
  expect(pressure).toEqual({ memory: undefined, io: undefined });
  expect([hasMemoryCgroup, writtenBytes, load1]).toEqual([false, 7_340_032, 1.02]);
});

test("with the voltage driver, its alarm shows the voltage, and the firmware's bits show everything else", () => {
  expect(read("raspberry-pi-3-b-plus").power).toEqual({ now: [], sinceBoot: [] });
  const { power, pressure, hasMemoryCgroup, writtenBytes } = read("raspberry-pi-4-2g");
  expect(power).toEqual({ now: ["undervoltage"], sinceBoot: ["undervoltage", "throttled"] });
  expect(pressure).toEqual({ memory: 0, io: 1.5 });
  expect([hasMemoryCgroup, writtenBytes]).toEqual([true, 18_870_272]);
});

test("an overlay in memory is detected, since the agent would lose its state; a disk mounted inside it does not count as one", () => {
  expect(read("compute-module-4-emmc").storage).toMatchObject({
    isVolatile: true,
    kind: "volatile",
    fileSystem: "overlay",
    wear: undefined,
  });
  const { files } = tree("compute-module-4-emmc", { "/data/siteward/.kept": "" });
  expect(readBoard(files, "/data/siteward", at).storage).toMatchObject({
    isVolatile: false,
    kind: "emmc",
    device: "mmcblk0",
    // The worse of its two kinds of memory.
    wear: { usedPercent: 90, reserve: "warning" },
  });
});

test("on a Pi 5 with an encrypted NVMe disk, the disk is found behind its mapper, and the fan's trip points are ignored", () => {
  const { storage, temperature, power } = read("raspberry-pi-5-8g-nvme");
  expect(storage).toMatchObject({ device: "nvme0n1", kind: "nvme", isVolatile: false });
  expect(temperature).toEqual({ zone: "cpu-thermal", celsius: 58.4, slowsAt: undefined, stopsAt: 110 });
  expect(power).toEqual({ now: [], sinceBoot: [] });
});

test("on a Jetson, the processor's hottest zone is read with its trip points, and so are the rails; a disabled zone is ignored", () => {
  const { temperature, rails, power, isOvercurrent, pressure } = read("jetson-orin-nano-8g");
  expect(temperature).toEqual({ zone: "tj-thermal", celsius: 49.2, slowsAt: 99, stopsAt: 104.5 });
  expect(rails).toEqual([
    { label: "VDD_IN", milliwatts: 4888 },
    { label: "VDD_CPU_GPU_CV", milliwatts: 521 },
  ]);
  expect(power).toBeUndefined();
  expect([isOvercurrent, pressure.memory]).toEqual([false, 2.25]);
  const monitor = "/sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040/hwmon/hwmon1";
  expect(read("jetson-orin-nano-8g", { [`${monitor}/curr1_crit_alarm`]: "1\n" }).isOvercurrent).toBe(true);
});

test("a new eMMC reports at most a tenth of its life as used", () => {
  expect(read("jetson-agx-orin-64g").storage).toMatchObject({
    kind: "emmc",
    wear: { usedPercent: 10, reserve: "normal" },
  });
});

test("on a PC, the package's zone is used, an invalid trip point is ignored, and btrfs is found by the name of its source", () => {
  const { temperature, storage, power, rails } = read("generic-x86");
  expect(temperature).toEqual({ zone: "x86_pkg_temp", celsius: 52, slowsAt: undefined, stopsAt: undefined });
  expect(storage).toMatchObject({ device: "sda", kind: "disk", fileSystem: "btrfs" });
  expect([power, rails]).toEqual([undefined, []]);
});

test("a card that failed and was made read-only counts as read-only, by its own flags or by those of the mount", () => {
  const mount = (options: string, own: string): string => `21 1 179:2 / / ${options} - ext4 /dev/mmcblk0p2 ${own}\n`;
  const isReadOnly = (options: string, own: string): boolean =>
    read("raspberry-pi-4-2g", { "/proc/self/mountinfo": mount(options, own) }).storage.isReadOnly;
  expect(isReadOnly("rw,noatime", "rw")).toBe(false);
  expect(isReadOnly("rw,noatime", "rw,errors=remount-ro,emergency_ro")).toBe(true);
  expect(isReadOnly("rw,noatime", "ro,errors=remount-ro")).toBe(true);
  expect(isReadOnly("ro,noatime", "rw")).toBe(true);
  expect(isReadOnly("rw,errors=remount-ro", "rw")).toBe(false);
});

test("the mount of a folder is found even if its path contains spaces", () => {
  const line = "21 1 179:2 / /mnt/my\\040disk rw - ext4 /dev/mmcblk0p2 rw\n9 1 0:30 / / rw - tmpfs tmpfs rw\n";
  const { files } = tree("raspberry-pi-4-2g", { "/proc/self/mountinfo": line, "/mnt/my disk/siteward/.kept": "" });
  expect(readBoard(files, "/mnt/my disk/siteward", at).storage).toMatchObject({ kind: "sd", isVolatile: false });
  expect(readBoard(files, "/mnt/mything", at).storage.isVolatile).toBe(true);
});

test("a board with a thousand pod mounts can be read, and the last mount of a path is used", () => {
  const pods = Array.from(
    { length: 2000 },
    (_, i) => `${100 + i} 21 0:${i} / /var/lib/kubelet/pods/${i}/volumes/token rw - tmpfs tmpfs rw\n`,
  ).join("");
  const under = (own: string) => read("raspberry-pi-4-2g", { "/proc/self/mountinfo": own }).storage;
  const root = "21 1 179:2 / / rw - ext4 /dev/root rw\n";
  expect(under(root + pods)).toMatchObject({ kind: "sd", isVolatile: false });
  const hidden = `30 21 179:2 /var /var/lib/siteward rw - ext4 /dev/root rw\n31 30 0:9 / /var/lib/siteward rw - tmpfs none rw\n`;
  expect(under(root + hidden + pods)).toMatchObject({ kind: "volatile", isVolatile: true });
  expect(under("21 1 179:2 / /var/lib/siteward2 rw - ext4 x rw\n")).toMatchObject({ kind: "unknown" });
});
