import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeRoom } from "../../../agent/companions/collect-diagnostics.ts";
import { writeArchive } from "../../../agent/doctor/archive.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { canMount, mount, unmount } from "../../support/mounts.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-archive-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const now = new FakeClock().now();
const { signal } = new AbortController();

const whyNot = canMount() ? undefined : "this user may not mount a file system of its own";
if (whyNot) console.log(`left out: an archive on a disk that becomes full, because ${whyNot}`);

test.skipIf(whyNot)(
  "a disk that becomes full while the archive is made is reported, leaves no files, and does not end the process",
  async () => {
    const disk = mount(folder, "size=64k");
    const unheard: unknown[] = [];
    const hear = (reason: unknown): void => void unheard.push(reason);
    process.on("unhandledRejection", hear);
    const asked: string[] = [];
    const slow = { name: "unit.txt", text: () => new Promise<string>((resolve) => setTimeout(resolve, 300, "unit")) };
    const entries = [
      { name: "log.txt", text: async () => randomBytes(2 ** 19).toString("hex") },
      slow,
      { name: "board.txt", text: async () => String(asked.push("board")) },
    ];
    try {
      const archive = writeArchive(path.join(disk, "a.tar.gz"), entries, now, signal);
      await expect(archive).rejects.toThrow(/ENOSPC/);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect([readdirSync(disk), unheard, asked]).toEqual([[], [], []]);
    } finally {
      process.off("unhandledRejection", hear);
      unmount(disk);
    }
  },
);

test("an interrupt in the middle leaves no files", async () => {
  const stop = new AbortController();
  const entries = [
    { name: "log.txt", text: async () => randomBytes(2 ** 19).toString("hex") },
    { name: "unit.txt", text: async () => String(stop.abort(new Error("stopped"))) },
    { name: "board.txt", text: async () => "pi" },
  ];
  await expect(writeArchive(path.join(folder, "a.tar.gz"), entries, now, stop.signal)).rejects.toThrow("stopped");
  expect(readdirSync(folder)).toEqual([]);
});

test("the oldest archive is deleted before another is made, and so is one that a power cut truncated", () => {
  const archive = (hour: string): string => `siteward-pi-3-20261120T${hour}0000Z.tar.gz`;
  for (const name of [archive("09"), archive("10"), `${archive("10")}.part`, archive("11"), `${archive("12")}.part`])
    writeFileSync(path.join(folder, name), "x");
  makeRoom(folder);
  expect(readdirSync(folder).sort()).toEqual([archive("10"), archive("11")]);
});
