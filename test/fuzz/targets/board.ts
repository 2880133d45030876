import { inventoryFrom } from "../../../agent/board/inventory.ts";
import type { BoardFiles } from "../../../agent/board/sensors/board-files.ts";
import { readBoard } from "../../../agent/board/sensors/read-board.ts";
import { judgeFreshness } from "../../../agent/cli/commands/status/status-reader.ts";
import { shortLine, statusText } from "../../../agent/cli/commands/status/status-view.ts";
import { readStatus } from "../../../agent/status/schema.ts";
import { bareStatus } from "../../support/bare-status.ts";
import { ensure, jsonIn, type Target } from "../target.ts";

const at = { mono: 1000, wall: 0 };

const tree = {
  "/sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
  "/sys/class/thermal/thermal_zone0/temp": "48312\n",
  "/sys/class/thermal/thermal_zone0/trip_point_0_type": "passive\n",
  "/sys/class/thermal/thermal_zone0/trip_point_0_temp": "80000\n",
  "/sys/class/hwmon/hwmon1/name": "rpi_volt\n",
  "/sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n",
  "/sys/devices/platform/soc/soc:firmware/get_throttled": "0x50005\n",
  "/proc/self/mountinfo": "21 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw,errors=remount-ro\n",
  "/sys/dev/block/179:2/../device/life_time": "0x01 0x02\n",
  "/proc/pressure/memory": "some avg10=1.25 avg60=0.00 avg300=0.00 total=1\n",
  "/proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
  "/proc/loadavg": "0.42 0.30 0.20 1/200 999\n",
  "/proc/self/io": "rchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n",
};

/** A kernel whose files have arbitrary content. */
function filesOf(written: unknown): BoardFiles {
  const files = new Map(
    Object.entries(typeof written === "object" && written !== null ? written : {}).flatMap(([name, text]) =>
      typeof text === "string" ? [[name, text] as const] : [],
    ),
  );
  const names = (folder: string): readonly string[] => [
    ...new Set(
      [...files.keys()].flatMap((file) =>
        file.startsWith(`${folder}/`) ? [file.slice(folder.length + 1).split("/")[0] ?? ""] : [],
      ),
    ),
  ];
  return {
    read: (file) => files.get(file),
    names: (folder) => [...names(folder)].sort(),
    real: (path) => path,
    freeBytes: () => 1_000_000,
    isReadOnly: () => false,
  };
}

const sysfs: Target = {
  name: "sysfs",
  form: "json",
  open: () => ({
    example: () => JSON.stringify(tree),
    run: (input) => {
      const { temperature, rails, storage, pressure, load1, writtenBytes } = readBoard(
        filesOf(jsonIn(input)),
        "/var/lib/siteward",
        at,
      );
      const numbers = [
        temperature?.celsius,
        storage.wear?.usedPercent,
        pressure.memory,
        load1,
        writtenBytes,
        ...rails.map(({ milliwatts }) => milliwatts),
      ];
      for (const number of numbers) ensure(number === undefined || Number.isFinite(number), "a reading is a number");
      return temperature !== undefined;
    },
  }),
};

const inventory: Target = {
  name: "inventory",
  form: "json",
  open: () => ({
    example: () =>
      JSON.stringify({
        schema: "siteward.inventory/1",
        system: { manufacturer: "RPi", model: "4B", serial: "1" },
        os: { distro: "Debian", release: "12", kernel: "6.6", arch: "arm64" },
        cpu: { brand: "A72", cores: 4, speed: 1.8 },
        memory: 8_000_000_000,
        disks: [{ device: "mmcblk0", type: "SD", name: "x", size: 32_000_000_000 }],
      }),
    run: (input) => inventoryFrom(input.toString()) !== undefined,
  }),
};

const status: Target = {
  name: "status-file",
  form: "json",
  open: () => ({
    example: () => JSON.stringify(bareStatus),
    run: (input) => {
      const found = readStatus(input.toString());
      if (typeof found === "string") {
        ensure(found !== "", "a refusal has a reason");
        return false;
      }
      const known = judgeFreshness(found, {
        bootId: found.bootId,
        bootMs: found.writtenBootMs + 1000,
        isAlive: () => true,
      });
      if (known.kind === "fresh" || known.kind === "stale") {
        statusText(known, { width: 80 });
        shortLine(known, 80);
      }
      return true;
    },
  }),
};

export const board: readonly Target[] = [sysfs, inventory, status];
