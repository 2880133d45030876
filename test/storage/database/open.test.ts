import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import { openCache, openState, removeCache } from "../../../storage/database/open.ts";
import { Memo } from "../../../storage/memo.ts";
import { createNewerFile, list, popAll, pragmas, scratch, shown, store } from "../object-store.ts";

const stamp = "20260102T030405Z";

/** Writes noise over a part of a file. */
function scribble(file: string, from: number, length: number): void {
  const bytes = readFileSync(file);
  bytes.fill(0xa5, from, Math.min(from + length, bytes.length));
  writeFileSync(file, bytes);
}

test("a sound cache is opened unchanged", () => {
  using folder = scratch();
  const file = folder.file("cache.db");
  const first = openCache({ file, pragmas });
  expect(first.rebuilt).toBeUndefined();
  list(store(first.database).fifo, ["a@1"], "1");
  first.database.close();
  const second = openCache({ file, pragmas });
  expect(second.rebuilt).toBeUndefined();
  expect(popAll(store(second.database).fifo)).toEqual(["- > a@1"]);
  second.database.close();
});

test.each<[what: string, spoil: (file: string) => void]>([
  [
    "foreign bytes",
    (file) => writeFileSync(file, "this is not a database, but it is long enough to look like one".repeat(50)),
  ],
  ["its second half missing", (file) => truncateSync(file, statSync(file).size / 2)],
  ["a scribbled header", (file) => scribble(file, 0, 100)],
  ["a scribbled first page", (file) => scribble(file, 100, 1900)],
  [
    "a database of another program",
    (file) => {
      removeCache(file);
      const foreign = Database.open({ file, migrations: [], pragmas });
      foreign.prepare("CREATE TABLE resources (mine TEXT)").run();
      foreign.close();
    },
  ],
])("a cache with %s is deleted and reported", (_, spoil) => {
  using folder = scratch();
  const file = folder.file("cache.db");
  const first = openCache({ file, pragmas });
  list(store(first.database).fifo, ["a@1"], "1");
  first.database.close();
  spoil(file);
  writeFileSync(`${file}-wal`, "left over");
  const second = openCache({ file, pragmas });
  expect(second.rebuilt).toMatchObject({ kind: "damaged", disposition: "rebuild", file });
  const { fifo } = store(second.database);
  expect(fifo.resourceVersion).toBeUndefined();
  expect(fifo.hasSynced).toBe(false);
  second.database.close();
});

test("an empty file is damage, and is replaced by a new cache", () => {
  using folder = scratch();
  const file = folder.file("cache.db");
  writeFileSync(file, "");
  const { database, rebuilt } = openCache({ file, pragmas });
  expect(rebuilt).toMatchObject({ kind: "damaged", cause: { message: "it is empty" } });
  database.close();
  const again = openCache({ file, pragmas });
  expect(again.rebuilt).toBeUndefined();
  again.database.close();
});

test("damage that shows only in use requests a rebuild, and the file can then be removed", () => {
  using folder = scratch();
  const file = folder.file("cache.db");
  const first = openCache({ file, pragmas });
  const names = Array.from({ length: 2000 }, (_, at) => `thing-${at}@1`);
  const { fifo } = store(first.database);
  list(fifo, names, "1");
  popAll(fifo);
  first.database.close();
  scribble(file, 60_000, 10_000_000);
  const { database, rebuilt } = openCache({ file, pragmas });
  expect(rebuilt).toBeUndefined();
  expect(() => [...store(database).indexer.list()]).toThrow(
    expect.objectContaining({ kind: "damaged", disposition: "rebuild" }),
  );
  database.closeWithoutCheckpoint();
  removeCache(file);
  expect(existsSync(file)).toBe(false);
  const fresh = openCache({ file, pragmas });
  expect(shown(store(fresh.database).indexer.list())).toEqual([]);
  fresh.database.close();
});

test("an object whose stored string is not JSON is damage", () => {
  using folder = scratch();
  const { database } = openCache({ file: folder.file("cache.db"), pragmas });
  const { fifo } = store(database);
  list(fifo, ["a@1"], "1");
  popAll(fifo);
  database.prepare("UPDATE objects SET text = ?").run('{"metadata":');
  expect(() => store(database).indexer.get("a")).toThrow(expect.objectContaining({ kind: "damaged" }));
  database.close();
});

test("a damaged state file is set aside under another name, and a new one begins", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const first = openState({ file, pragmas, stamp });
  expect(first.setAside).toBeUndefined();
  new Memo(first.database).set("commands", "17", "done");
  first.database.close();
  scribble(file, 0, 40);
  const spoilt = readFileSync(file);
  const second = openState({ file, pragmas, stamp });
  expect(second.setAside).toMatchObject({
    file: `${file}.damaged-${stamp}`,
    why: { kind: "damaged", disposition: "exit" },
  });
  expect(readFileSync(`${file}.damaged-${stamp}`)).toEqual(spoilt);
  expect(new Memo(second.database).get("commands", "17")).toBeUndefined();
  second.database.close();
  const third = openState({ file, pragmas, stamp: "later" });
  expect(third.setAside).toBeUndefined();
  third.database.close();
  expect(readdirSync(path.dirname(file)).sort()).toEqual(["state.db", `state.db.damaged-${stamp}`]);
});

test("a state file whose WAL the disk cannot read is left unchanged, and the error names it", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  openState({ file, pragmas, stamp }).database.close();
  // Nothing can be read at its beginning: EIO, as from a bad sector.
  symlinkSync("/proc/self/mem", `${file}-wal`);
  const error = expect.objectContaining({ kind: "io", file, cause: expect.objectContaining({ code: "EIO" }) });
  expect(() => openState({ file, pragmas, stamp })).toThrow(error);
  expect(readdirSync(path.dirname(file)).sort()).toEqual(["state.db", "state.db-wal"]);
});

test("damage deep inside a state file is found when it is opened", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const first = openState({ file, pragmas, stamp });
  const memo = new Memo(first.database);
  for (let at = 0; at < 200; at++) memo.set("area", `key-${at}`, "value".repeat(20));
  first.database.close();
  scribble(file, statSync(file).size - 3000, 2500);
  const { database, setAside } = openState({ file, pragmas, stamp });
  expect(setAside?.why.kind).toBe("damaged");
  database.close();
});

test("stored state is still there after the file is reopened", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const first = openState({ file, pragmas: { ...pragmas, synchronous: "FULL" }, stamp });
  new Memo(first.database).set("commands", "17", "done");
  first.database.closeWithoutCheckpoint();
  const second = openState({ file, pragmas: { ...pragmas, synchronous: "FULL" }, stamp });
  expect(second.setAside).toBeUndefined();
  expect(new Memo(second.database).get("commands", "17")).toBe("done");
  second.database.close();
});

test("a file of a newer version is not deleted", () => {
  using folder = scratch();
  const file = folder.file("cache.db");
  createNewerFile(file);
  expect(() => openCache({ file, pragmas })).toThrow(expect.objectContaining({ kind: "newer" }));
  expect(existsSync(file)).toBe(true);
});

test("a folder in place of the cache is moved away with its content, and only the last of such folders is kept", () => {
  using folder = scratch();
  const file = folder.file("cache.db");
  for (const content of ["first", "second"]) {
    mkdirSync(file);
    writeFileSync(path.join(file, content), "");
    const { database, rebuilt } = openCache({ file, pragmas });
    expect(rebuilt?.cause).toMatchObject({ message: `${file} is not a file but a folder` });
    database.closeWithoutCheckpoint();
    removeCache(file);
  }
  expect(readdirSync(path.dirname(file))).toEqual(["cache.db.moved-away"]);
  expect(readdirSync(`${file}.moved-away`)).toEqual(["second"]);
});

test("of the states set aside the newest three are kept, including the last one, regardless of the clock", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  // A board without a battery clock wakes up in 1970.
  for (const stamp of ["1700000000000", "900", "1800000000000", "1900000000000", "1200"]) {
    writeFileSync(file, "no database".repeat(100));
    openState({ file, pragmas, stamp }).database.close();
  }
  const kept = ["1200", "1800000000000", "1900000000000"].map((stamp) => `state.db.damaged-${stamp}`);
  expect(readdirSync(path.dirname(file)).sort()).toEqual(["state.db", ...kept]);
});

test("a file that cannot even be looked at is an obstacle, and not an error of the program", () => {
  // As in a folder of another owner, which a test that is run by root can enter.
  const file = path.join("x".repeat(300), "state.db");
  for (const open of [() => openState({ file, pragmas, stamp: "1" }), () => openCache({ file, pragmas })])
    expect(open).toThrow(expect.objectContaining({ name: "StorageError", kind: "io" }));
});
