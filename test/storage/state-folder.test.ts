import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Memo } from "../../storage/memo.ts";
import { isFullOfCache, StateFolder } from "../../storage/state-folder.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { createNewerFile, pragmas, scratch } from "./object-store.ts";

const open = (folder: string): StateFolder => StateFolder.open({ folder, pragmas, stamp: "now" });

test("a missing folder is created, with both files in it; stored state is there the next time", () => {
  using place = scratch();
  const at = place.file("a/b");
  const first = open(at);
  new Memo(first.state.database).set("leader", "term", "3");
  first.close();
  expect(readdirSync(at).sort()).toEqual(["cache.db", "state.db"]);
  const second = open(at);
  expect(new Memo(second.state.database).get("leader", "term")).toBe("3");
  second.closeWithoutCheckpoint();
});

test("a folder that cannot be created is an error that a person has to fix", () => {
  using place = scratch();
  const file = place.file("file");
  writeFileSync(file, "");
  const at = path.join(file, "below");
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "io", disposition: "exit", file: at }));
});

test("a folder in which nothing can be stored at present reports why", () => {
  using place = scratch();
  const folder = open(place.file("state"));
  expect(folder.obstacle()).toBeUndefined();
  rmSync(place.file("state"), { recursive: true });
  expect(folder.obstacle()).toMatch(/state cannot be written: ENOENT/);
  folder.closeWithoutCheckpoint();
});

test.skipIf(!canMount())("a folder on a disk that is almost full reports that as well", () => {
  using place = scratch();
  const disk = mount(path.dirname(place.file("x")), "size=4m");
  try {
    const folder = open(disk);
    expect(folder.obstacle()).toBeUndefined();
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(path.join(disk, "filler"), Buffer.alloc(bavail * bsize - 900_000));
    expect(folder.obstacle()).toBe(`less than 1 MiB is left on the disk of ${disk}`);
    folder.closeWithoutCheckpoint();
  } finally {
    unmount(disk);
  }
});

/** A folder on a disk of 8 MiB that its cache has filled but for 300 kB; closed as after a failed write. */
function crowded(disk: string): string {
  const at = path.join(disk, "state");
  const folder = open(at);
  new Memo(folder.state.database).set("leader", "term", "3");
  const { database } = folder.cache;
  const put = database.prepare("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, '1', '1', ?)");
  for (let i = 0; i < 5; i++) put.run(`tenant/${i}`, "x".repeat(1_000_000));
  folder.state.database.checkpoint();
  database.checkpoint();
  folder.closeWithoutCheckpoint();
  leave(disk, 300_000);
  return at;
}

function leave(disk: string, left: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(path.join(disk, `filler-${left}`), Buffer.alloc(Math.max(0, bavail * bsize - left)));
}

describe.skipIf(!canMount())("a disk that the cache has filled", () => {
  let place: ReturnType<typeof scratch>;
  let disk: string;
  beforeEach(() => {
    place = scratch();
    disk = mount(path.dirname(place.file("x")), "size=8m");
  });
  afterEach(() => {
    unmount(disk);
    place[Symbol.dispose]();
  });

  test("is usable again at the next start, without the cache and with the state", () => {
    const at = crowded(disk);
    const folder = open(at);
    expect(folder.cache.rebuilt).toMatchObject({ kind: "full", file: path.join(at, "cache.db") });
    expect(folder.cache.rebuilt?.hint).toMatch(/deleted its cache to make room/);
    expect(folder.obstacle()).toBeUndefined();
    expect(new Memo(folder.state.database).get("leader", "term")).toBe("3");
    folder.close();
    const again = open(at);
    expect(again.cache.rebuilt).toBeUndefined();
    again.close();
  });

  test("is usable again even without a free byte, and after a power cut between the deleted files", () => {
    const at = crowded(disk);
    leave(disk, 0);
    rmSync(path.join(at, "cache.db-shm"), { force: true });
    writeFileSync(path.join(at, "cache.db-wal"), "");
    const folder = open(at);
    expect(folder.cache.rebuilt?.kind).toBe("full");
    expect(folder.obstacle()).toBeUndefined();
    expect(new Memo(folder.state.database).get("leader", "term")).toBe("3");
    folder.close();
  });

  test("is usable again if state.db was set aside and must be created", () => {
    const at = crowded(disk);
    leave(disk, 0);
    for (const name of ["state.db", "state.db-wal"]) rmSync(path.join(at, name), { force: true });
    leave(disk, 1);
    const folder = open(at);
    expect(folder.cache.rebuilt?.kind).toBe("full");
    folder.close();
  });

  test("keeps its cache if deleting it is not wanted, or would not make enough room", () => {
    const at = crowded(disk);
    const kept = StateFolder.open({ folder: at, pragmas, stamp: "now", mayDiscard: false });
    expect(kept.cache.rebuilt).toBeUndefined();
    kept.closeWithoutCheckpoint();
    rmSync(path.join(at, "cache.db"));
    leave(disk, 900_000);
    expect(isFullOfCache(at)).toBe(false);
    const other = open(at);
    expect([other.cache.rebuilt, other.obstacle()]).toEqual([undefined, expect.stringMatching(/less than 1 MiB/)]);
    other.closeWithoutCheckpoint();
  });

  test("is left alone while another process uses the folder", () => {
    const at = crowded(disk);
    const first = StateFolder.open({ folder: at, pragmas, stamp: "now", mayDiscard: false });
    expect(() => open(at)).toThrow(expect.objectContaining({ kind: "busy" }));
    expect(statSync(path.join(at, "cache.db")).size).toBeGreaterThan(5_000_000);
    first.closeWithoutCheckpoint();
  });
});

test("if one of the files cannot be opened, the other one is closed as well", () => {
  using place = scratch();
  const at = place.file("state");
  mkdirSync(at);
  const cache = path.join(at, "cache.db");
  createNewerFile(cache);
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "newer", file: cache }));
  // Not "busy": nothing of the first try is left open.
  expect(() => open(at)).toThrow(expect.objectContaining({ kind: "newer" }));
  expect(existsSync(cache)).toBe(true);
});

/** A folder whose cache holds something; closed, so that each file is whole by itself. */
function filled(folder: string): void {
  const opened = open(folder);
  opened.cache.database.prepareOnce("INSERT INTO resources (name, position) VALUES ('pods', '7')").run();
  opened.close();
}

const positions = ({ cache }: StateFolder): readonly unknown[] =>
  cache.database.prepareOnce("SELECT position FROM resources").all();

test("a cache that was filled with another state is deleted, once, and reported", () => {
  using place = scratch();
  const [ours, theirs] = [place.file("ours"), place.file("theirs")];
  for (const folder of [ours, theirs]) filled(folder);
  copyFileSync(path.join(theirs, "cache.db"), path.join(ours, "cache.db"));
  const first = open(ours);
  expect(first.cache.rebuilt).toMatchObject({ kind: "foreign", disposition: "rebuild" });
  expect(first.cache.rebuilt?.message).toBe(`${path.join(ours, "cache.db")}: the cache belongs to another state.db`);
  expect(positions(first)).toEqual([]);
  first.close();
  const second = open(ours);
  expect(second.cache.rebuilt).toBeUndefined();
  second.close();
});

test("a cache next to a recreated state is deleted too, and so is an older one of the same board", () => {
  using place = scratch();
  const folder = place.file("state");
  filled(folder);
  copyFileSync(path.join(folder, "cache.db"), place.file("older.db"));
  rmSync(path.join(folder, "state.db"));
  const anew = open(folder);
  expect([anew.cache.rebuilt?.kind, positions(anew)]).toEqual(["foreign", []]);
  anew.close();
  copyFileSync(place.file("older.db"), path.join(folder, "cache.db"));
  const older = open(folder);
  expect([older.cache.rebuilt?.kind, positions(older)]).toEqual(["foreign", []]);
  older.close();
});

test("a state.db that another program removes, replaces or truncates while it is open is noticed", () => {
  using place = scratch();
  const at = place.file("state");
  const file = path.join(at, "state.db");
  const folder = open(at);
  const memo = new Memo(folder.state.database);
  expect(folder.loss()).toBeUndefined();
  for (let round = 0; round < 100; round++) memo.set("leader", `round ${round}`, "x".repeat(1000));
  folder.state.database.checkpoint();
  expect(folder.loss()).toBeUndefined();

  copyFileSync(file, place.file("copy.db"));
  renameSync(file, place.file("opened.db"));
  expect(folder.loss()).toBe("removed");
  renameSync(place.file("copy.db"), file);
  expect(folder.loss()).toBe("replaced");
  renameSync(place.file("opened.db"), file);
  expect(folder.loss()).toBeUndefined();
  truncateSync(file, 0);
  expect(folder.loss()).toBe("truncated");
  rmSync(at, { recursive: true });
  expect(folder.loss()).toBe("removed");
  folder.closeWithoutCheckpoint();
});

test("a deleted cache is recreated without a report, and belongs to its state", () => {
  using place = scratch();
  const folder = place.file("state");
  filled(folder);
  const kept = open(folder);
  expect([kept.cache.rebuilt, positions(kept)]).toEqual([undefined, [{ position: "7" }]]);
  kept.close();
  rmSync(path.join(folder, "cache.db"));
  const anew = open(folder);
  expect([anew.cache.rebuilt, positions(anew)]).toEqual([undefined, []]);
  anew.close();
  const again = open(folder);
  expect(again.cache.rebuilt).toBeUndefined();
  again.close();
});

test("after a power failure between the two writes, the next start continues like the first one", () => {
  using place = scratch();
  const folder = place.file("state");
  const first = open(folder);
  new Memo(first.state.database).delete("cache", "file");
  first.close();
  const next = open(folder);
  expect(next.cache.rebuilt).toBeUndefined();
  next.close();
  filled(folder);
  const kept = open(folder);
  expect([kept.cache.rebuilt, positions(kept)]).toEqual([undefined, [{ position: "7" }]]);
  kept.close();
});

test("a cache of a version without owners is adopted if the state does not have an owner either", () => {
  using place = scratch();
  const folder = place.file("state");
  filled(folder);
  const former = open(folder);
  former.cache.database.prepareOnce("DELETE FROM owner").run();
  new Memo(former.state.database).delete("cache", "file");
  former.close();
  const taken = open(folder);
  expect([taken.cache.rebuilt, positions(taken)]).toEqual([undefined, [{ position: "7" }]]);
  taken.close();
  const cut = open(folder);
  cut.cache.database.prepareOnce("DELETE FROM owner").run();
  cut.close();
  const foreign = open(folder);
  expect(foreign.cache.rebuilt?.kind).toBe("foreign");
  foreign.close();
});
