import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  bootClock,
  bootId,
  compatibles,
  hardware,
  model,
  processMemory,
  ramBytes,
} from "../../../agent/board/facts.ts";
import { readFact } from "../../../agent/board/read-fact.ts";

const machine = (files: Readonly<Record<string, string>>) => (file: string) => files[file];

test("a Raspberry Pi is identified by its device tree, the most specific entry first", () => {
  const read = machine({
    "/sys/firmware/devicetree/base/compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0",
    "/sys/firmware/devicetree/base/model": "Raspberry Pi 4 Model B Rev 1.5\0",
    "/proc/meminfo": "MemTotal:        1924188 kB\nMemFree:          100 kB\n",
  });
  expect(compatibles(read)).toEqual(["raspberrypi,4-model-b", "brcm,bcm2711"]);
  expect(model(read)).toBe("Raspberry Pi 4 Model B Rev 1.5");
  expect(ramBytes(read)).toBe(1924188 * 1024);
});

test("a machine without these files does not report any facts", () => {
  const nothing = machine({});
  expect(compatibles(nothing)).toEqual([]);
  expect(model(nothing)).toBeUndefined();
  expect(ramBytes(nothing)).toBeUndefined();
  expect(bootClock(nothing)).toBeUndefined();
  expect(bootId(nothing)).toBe("unknown");
  expect(processMemory(nothing)).toEqual({ rssBytes: undefined, anonymousBytes: undefined, peakBytes: undefined });
});

test("the boot clock is read in milliseconds", () => {
  expect(bootClock(machine({ "/proc/uptime": "981.22 3456.78\n" }))).toBe(981_220);
  expect(bootClock(machine({ "/proc/uptime": "garbage" }))).toBeUndefined();
});

test("the process's memory is reported as RSS, private memory and peak", () => {
  const status = "Name:\tnode\nVmHWM:\t   90000 kB\nVmRSS:\t   70000 kB\nRssAnon:\t   20000 kB\nRssFile:\t 50000 kB\n";
  expect(processMemory(machine({ "/proc/self/status": status }))).toEqual({
    rssBytes: 70_000 * 1024,
    anonymousBytes: 20_000 * 1024,
    peakBytes: 90_000 * 1024,
  });
});

test("a fact that this machine does not have is undefined, not an error", () => {
  expect(readFact("/proc/self/status")).toContain("VmRSS");
  expect(readFact("/sys/firmware/nowhere")).toBeUndefined();
});

test("a file that is longer than any fact is not read to its end", () => {
  const folder = mkdtempSync(join(tmpdir(), "siteward-facts-"));
  try {
    const file = join(folder, "fact");
    writeFileSync(file, "");
    truncateSync(file, 2 * 2 ** 20);
    expect(readFact(file)).toHaveLength(2 * 2 ** 20);
    truncateSync(file, 2 * 2 ** 20 + 1);
    expect(readFact(file)).toBeUndefined();
    // Longer than any string can be, and than the memory of this machine.
    truncateSync(file, 2 ** 42);
    expect(readFact(file)).toBeUndefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("hardware is identified by its serial number, never by a file that a cloned card has too", () => {
  const files: Record<string, string> = { "/etc/machine-id": "cloned\n" };
  expect(hardware((file) => files[file])).toBeUndefined();
  files["/sys/class/dmi/id/product_uuid"] = "4C4C4544-0042\n";
  expect(hardware((file) => files[file])).toBe("4C4C4544-0042");
  files["/sys/firmware/devicetree/base/serial-number"] = "10000000e3b0c442\0";
  expect(hardware((file) => files[file])).toBe("10000000e3b0c442");
});
