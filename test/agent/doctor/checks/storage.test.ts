import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boardFiles } from "../../../../agent/board/sensors/board-files.ts";
import { mountOf } from "../../../../agent/board/sensors/mount.ts";
import { storageReading } from "../../../../agent/board/sensors/storage-device.ts";
import { journalIntegrity } from "../../../../agent/doctor/checks/journal.ts";
import {
  checkFsync,
  checkPersistence,
  checkSpace,
  checkWear,
  storageFsync,
  storagePersist,
} from "../../../../agent/doctor/checks/storage.ts";
import { Memo } from "../../../../storage/memo.ts";
import { StateFolder } from "../../../../storage/state-folder.ts";
import { canMount, mount, unmount } from "../../../support/mounts.ts";
import { Folder, patient } from "../patient.ts";

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const mebi = 2 ** 20;

test("a folder with room passes, one with too little gets a warning, and a missing one is named", () => {
  expect(checkSpace(folder.path, mebi)).toMatchObject({ level: "ok" });
  expect(checkSpace(folder.path, Number.MAX_SAFE_INTEGER)).toMatchObject({
    level: "warn",
    hint: expect.stringContaining("journalctl --vacuum-size"),
  });
  const later = folder.file("not/yet");
  expect(checkSpace(later, mebi)).toMatchObject({
    level: "ok",
    message: expect.stringContaining(`where ${later} will be created`),
  });
});

describe.skipIf(!canMount())("a state folder on a separate disk", () => {
  let disk: string | undefined;
  afterEach(() => {
    if (disk !== undefined) unmount(disk);
    disk = undefined;
  });

  test("that is full or read-only is a failure, because such a board does not stand for election", () => {
    disk = mount(folder.path, "size=2m");
    writeFileSync(path.join(disk, "ballast"), Buffer.alloc(1.5 * mebi));
    expect(checkSpace(disk, 200 * mebi)).toMatchObject({
      level: "fail",
      message: expect.stringContaining("the disk is full"),
      hint: expect.stringContaining("Free space"),
    });
    unmount(disk);
    disk = mount(folder.path, "size=8m,ro");
    expect(checkSpace(disk, mebi)).toMatchObject({
      level: "fail",
      message: expect.stringContaining("read-only"),
      hint: expect.stringContaining("dmesg"),
    });
  });

  test("that is in memory is reported as volatile, with the line to add to /etc/fstab", () => {
    disk = mount(folder.path, "size=8m");
    const board = patient(folder, {}, { SITEWARD_STATE_FOLDER: path.join(disk, "state") });
    expect(storagePersist(board)).toMatchObject({
      level: "warn",
      message: expect.stringContaining("is on tmpfs"),
      hint: expect.stringContaining(`LABEL=siteward ${disk}/state ext4`),
    });
  });
});

test("an overlay root, as raspi-config sets it up, is volatile too, but a card is not", () => {
  const mounts = (line: string): ReturnType<typeof storageReading> => {
    const files = {
      ...boardFiles(folder.path),
      read: (file: string) => (file === "/proc/self/mountinfo" ? line : undefined),
    };
    return storageReading(files, "/var/lib/siteward", mountOf(files, "/var/lib/siteward"));
  };
  const overlay = mounts("25 1 0:23 / / rw,relatime - overlay overlay rw,lowerdir=/lower,upperdir=/upper\n");
  expect(checkPersistence("/var/lib/siteward", overlay)).toMatchObject({ level: "warn" });
  const card = mounts("25 1 179:2 / / rw,noatime - ext4 /dev/mmcblk0p2 rw\n");
  expect(checkPersistence("/var/lib/siteward", card)).toMatchObject({ level: "ok" });
  expect(checkPersistence("/var/lib/siteward", mounts(""))).toMatchObject({ level: "skip" });
});

test("twenty real writes are timed, and slow ones are a warning", () => {
  mkdirSync(folder.file("state"));
  const board = patient(folder, {}, { SITEWARD_BOARD_FSYNC: "10s" });
  expect(storageFsync(board)).toMatchObject({
    level: "ok",
    message: expect.stringMatching(/^95 % of 20 test writes reached/),
  });
  const slow = [...Array.from({ length: 18 }, () => 20), 900, 950];
  expect(checkFsync(slow, 200)).toMatchObject({
    level: "warn",
    message: "95 % of 20 test writes reached the disk within 900 ms; the limit is 200 ms",
  });
  // One hiccup of a card is not yet a slow card.
  expect(checkFsync([...Array.from({ length: 19 }, () => 20), 950], 200)).toMatchObject({ level: "ok" });
});

test("an eMMC near the end of its life is a warning; a card does not report wear", () => {
  const storage = { ...storageReading(boardFiles(folder.path), "/nowhere", undefined), kind: "emmc" } as const;
  const worn = (usedPercent: number, reserve: "normal" | "warning" = "normal") =>
    checkWear({ ...storage, wear: { usedPercent, reserve } }).level;
  expect([worn(80), worn(90), worn(10, "warning")]).toEqual(["ok", "warn", "warn"]);
  expect(checkWear({ ...storage, kind: "sd", wear: undefined })).toEqual({
    level: "skip",
    message: "SD cards do not report wear",
  });
});

describe("databases", () => {
  const pragmas = { cacheKiB: 256, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 1024 };
  const open = (): StateFolder => StateFolder.open({ folder: folder.file("state"), pragmas, stamp: "1" });
  const spoil = (name: string): void => {
    const file = folder.file(`state/${name}`);
    const size = 40 * 1024;
    writeFileSync(file, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(size, 0x5a)]));
  };

  test("that do not exist before the first start pass", () => {
    expect(journalIntegrity(patient(folder))).toMatchObject({ level: "ok" });
  });

  test("that were closed cleanly are both sound, and the check leaves no files behind", () => {
    open().close();
    const before = readdirSync(folder.file("state")).sort();
    expect(journalIntegrity(patient(folder))).toMatchObject({
      level: "ok",
      message: expect.stringMatching(/state\.db is sound; .*cache\.db is sound/),
    });
    expect(readdirSync(folder.file("state")).sort()).toEqual(before);
  });

  test("are read while the agent runs: cache.db alongside the agent, but not state.db", () => {
    const mine = open();
    try {
      const status = { status: undefined as never, isFresh: true };
      const verdict = journalIntegrity(patient(folder, { status }));
      expect(verdict).toMatchObject({ level: "ok" });
      expect(verdict.message).toMatch(/state\.db is in use by the agent.*cache\.db is sound/);
    } finally {
      mine.close();
    }
  });

  test("that a crash left with a log are reported as harmless", () => {
    const mine = open();
    new Memo(mine.state.database).set("leader", "seen", "17");
    cpSync(folder.file("state"), folder.file("crashed"), { recursive: true });
    mine.close();
    const board = patient(folder, {}, { SITEWARD_STATE_FOLDER: folder.file("crashed") });
    expect(journalIntegrity(board)).toMatchObject({
      level: "ok",
      message: expect.stringContaining("did not stop cleanly"),
    });
  });

  test("that are damaged are a failure for state.db and a warning for cache.db, which can be listed again", () => {
    open().close();
    spoil("cache.db");
    expect(journalIntegrity(patient(folder))).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/cache\.db is damaged/),
      hint: expect.stringContaining("lists everything again"),
    });
    spoil("state.db");
    expect(journalIntegrity(patient(folder))).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/state\.db is damaged/),
      hint: expect.stringContaining("moves it aside"),
    });
  });
});
