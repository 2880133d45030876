import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recoveryTime } from "../../../agent/process/recovery-time.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-recovery-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, mebibytes: number): void {
  writeFileSync(path.join(folder, name), "");
  truncateSync(path.join(folder, name), mebibytes * 2 ** 20);
}

test.each<[string, Readonly<Record<string, number>>, number | undefined]>([
  ["a folder that is not filled needs no time", {}, undefined],
  [
    "a usual folder is opened within the time that every start has",
    { "cache.db": 30, "cache.db-wal": 4, "state.db": 1 },
    undefined,
  ],
  [
    "a WAL left by a power cut is read as a whole, so twice the time is requested",
    { "cache.db": 20, "cache.db-wal": 80 },
    204_800,
  ],
])("%s", (_, files, expected) => {
  for (const [name, mebibytes] of Object.entries(files)) file(name, mebibytes);
  expect(recoveryTime(folder)).toBe(expected);
});

test("a folder that cannot be read is reported by the code that opens it", () => {
  expect(recoveryTime("/proc/nowhere")).toBeUndefined();
});
