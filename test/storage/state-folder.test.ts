import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../storage/database.ts";
import { Memo } from "../../storage/memo.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { pragmas, scratch } from "./things.ts";

const open = (folder: string): StateFolder => StateFolder.open({ folder, pragmas, stamp: "now" });

test("a folder that is not there is made, with both files in it; what is remembered is there the next time", () => {
  using place = scratch();
  const at = place.file("a/b");
  const first = open(at);
  new Memo(first.state.database).set("leader", "term", "3");
  first.close();
  expect(readdirSync(at).sort()).toEqual(["cache.db", "state.db"]);
  const second = open(at);
  expect(new Memo(second.state.database).get("leader", "term")).toBe("3");
  second.abandon();
});

test("a folder that cannot be made is an error for a person", () => {
  using place = scratch();
  const file = place.file("file");
  writeFileSync(file, "");
  const at = path.join(file, "below");
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "io", disposition: "exit", file: at }));
});

test("a folder in which nothing can be stored at present says why", () => {
  using place = scratch();
  const folder = open(place.file("state"));
  expect(folder.obstacle()).toBeUndefined();
  rmSync(place.file("state"), { recursive: true });
  expect(folder.obstacle()).toMatch(/state cannot be written: ENOENT/);
  folder.abandon();
});

test.skipIf(!canMount())("so does one on a disk that is almost full", () => {
  using place = scratch();
  const disk = mount(path.dirname(place.file("x")), "size=4m");
  try {
    const folder = open(disk);
    expect(folder.obstacle()).toBeUndefined();
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(path.join(disk, "filler"), Buffer.alloc(bavail * bsize - 900_000));
    expect(folder.obstacle()).toBe(`less than 1 MiB is left on the disk of ${disk}`);
    folder.abandon();
  } finally {
    unmount(disk);
  }
});

test("where one of the files cannot be opened, the other one is let go of as well", () => {
  using place = scratch();
  const at = place.file("state");
  mkdirSync(at);
  const cache = path.join(at, "cache.db");
  Database.open({ file: cache, migrations: [{ number: 99, sql: "" }], pragmas }).close();
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "newer", file: cache }));
  // Not "busy": nothing of the first try is left open.
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "newer" }));
  expect(existsSync(cache)).toBe(true);
});
