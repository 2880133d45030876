import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readText } from "../../../agent/config/read-text.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-text-"));
  file = path.join(folder, "siteward.yaml");
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each([0, 1, 4095, 4096, 4097, 10_000])("a file of %i bytes is read whole", (size) => {
  writeFileSync(file, "x".repeat(size));
  expect(readText(file, 10_000)).toEqual({ text: "x".repeat(size) });
});

test("a file that is larger than the limit is refused", () => {
  writeFileSync(file, "x".repeat(10_001));
  expect(readText(file, 10_000)).toEqual({ problem: "is too large: 10001 bytes of at most 10000" });
});

test("a file of /proc, which reports no size, is read up to the limit", () => {
  const text = readFileSync("/proc/filesystems", "utf8");
  expect(readText("/proc/filesystems")).toEqual({ text });
  expect(readText("/proc/filesystems", 10)).toEqual({ problem: "is too large: more than 10 bytes" });
});

test("the kernel's log never ends, and is refused immediately", () => {
  expect(readText("/proc/kmsg")).toEqual({ problem: expect.stringMatching(/^(cannot be read|is too large)/) });
});

test("a FIFO, a device, a folder and a missing file are refused", () => {
  execFileSync("mkfifo", [file]);
  const problems = [file, "/dev/zero", folder, path.join(folder, "gone")].map((one) => readText(one));
  expect(problems).toEqual([
    { problem: "is not a regular file" },
    { problem: "is not a regular file" },
    { problem: "is a folder, not a file" },
    { problem: "does not exist" },
  ]);
});
