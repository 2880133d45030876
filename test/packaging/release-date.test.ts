import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { releaseDate } from "../../packaging/release-date.ts";

test("SOURCE_DATE_EPOCH decides the time of everything in a package", async () => {
  expect(await releaseDate(os.tmpdir(), { SOURCE_DATE_EPOCH: "1700000000" })).toEqual(new Date("2023-11-14T22:13:20Z"));
});

test("a SOURCE_DATE_EPOCH that is not a number of seconds is refused", async () => {
  await expect(releaseDate(os.tmpdir(), { SOURCE_DATE_EPOCH: "yesterday" })).rejects.toThrow(/SOURCE_DATE_EPOCH/);
});

test("sources without commits require SOURCE_DATE_EPOCH", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-date-"));
  try {
    await expect(releaseDate(folder, {})).rejects.toThrow(/set SOURCE_DATE_EPOCH/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
