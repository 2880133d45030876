import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { Database, type Pragmas } from "../../storage/database/database.ts";
import { giveBack, roomIn } from "../../storage/database/give-back.ts";
import { StorageError } from "../../storage/errors.ts";
import { fileWalk } from "../../storage/file-walk.ts";
import { cacheMigrations, stateMigrations } from "../../storage/schema.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const pragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 512,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 1024,
};

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function open(migrations = cacheMigrations): Database {
  const folder = mkdtempSync(path.join(tmpdir(), "siteward-walk-"));
  folders.push(folder);
  return Database.open({ file: path.join(folder, "x.db"), migrations, pragmas });
}

function filled(objects: number): Database {
  const database = open();
  database.transaction(() => {
    const insert = database.prepare("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, ?, ?, ?)");
    const index = database.prepare("INSERT INTO index_rows VALUES (1, ?, ?)");
    for (let i = 0; i < objects; i++) {
      insert.run(`default/pod-${i}`, `uid-${i}`, String(i), `{"n":${i},"x":"${"y".repeat((i * 37) % 3000)}"}`);
      index.run(`pi-${i % 7}`, `default/pod-${i}`);
    }
  });
  return database;
}

/** Answers how many steps it took. */
function walked(database: Database, most: number, between: () => void = () => undefined): number {
  const walk = fileWalk(database);
  walk.next(most);
  let steps = 0;
  for (let done = false; !done; steps++) {
    done = walk.next(most).done === true;
    between();
  }
  return steps;
}

test("a sound file is read to its end, a few rows with each step, regardless of what is written in the meantime", () => {
  const database = filled(500);
  expect(walked(database, 1000)).toBeLessThan(10);
  let next = 500;
  const insert = database.prepare("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM objects WHERE id = (SELECT min(id) FROM objects)");
  const steps = walked(database, 10, () => {
    if (next > 800) return;
    insert.run(`default/pod-${next++}`, "uid", "1", "{}");
    remove.run();
  });
  expect(steps).toBeGreaterThan(100);
  database.close();
});

test("empty files, and every table of state.db, can be walked", () => {
  const database = open(stateMigrations);
  expect(walked(database, 5)).toBeGreaterThan(0);
  database.prepare("INSERT INTO memo VALUES ('a', 'b', 'c'), ('a', 'c', 'd'), ('b', 'a', 'd')").run();
  expect(walked(database, 1)).toBeGreaterThan(2);
  database.close();
});

test("pages that were overwritten are found, regardless of where they are in the tables", () => {
  const random = new SeededRandom(5);
  const pristine = filled(400);
  pristine.close();
  const original = readFileSync(pristine.file);
  const pages = statSync(pristine.file).size / 1024;
  const seen = { byUs: 0, byBoth: 0, byQuickCheck: 0 };
  const rounds = 60;
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(path.join(tmpdir(), "siteward-walk-"));
    folders.push(folder);
    const file = path.join(folder, "x.db");
    const handle = openSync(file, "w");
    writeSync(handle, original);
    // Not the first pages: without them the file cannot even be opened.
    const page = 20 + Math.floor(random.next() * (pages - 20));
    writeSync(handle, Buffer.alloc(1024, 0xa5), 0, 1024, page * 1024);
    closeSync(handle);
    const database = Database.open({ file, migrations: cacheMigrations, pragmas });
    const [ours, theirs] = [isFoundBy(() => walked(database, 50)), database.firstProblem() !== undefined];
    seen.byUs += Number(ours);
    seen.byQuickCheck += Number(theirs);
    seen.byBoth += Number(ours && theirs);
    database.closeWithoutCheckpoint();
  }
  expect(seen.byQuickCheck).toBeGreaterThan(rounds / 2);
  expect(seen.byBoth / seen.byQuickCheck).toBeGreaterThan(0.9);
});

function isFoundBy(look: () => unknown): boolean {
  try {
    look();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ kind: "damaged" });
    return true;
  }
}

test("a file that is mostly free gives its pages back; a small file, or a mostly live one, is not changed", () => {
  const small = filled(50);
  expect(giveBack(small)).toBe(0);
  small.close();
  const database = filled(2500);
  expect(giveBack(database)).toBe(0);
  database.prepare("DELETE FROM objects WHERE id > 100").run();
  const before = roomIn(database);
  expect(before.freeBytes).toBeGreaterThan(2 ** 20);
  expect(giveBack(database)).toBeGreaterThan(2 ** 20);
  expect(roomIn(database).bytes).toBeLessThan(before.bytes / 2);
  expect(walked(database, 100)).toBeGreaterThan(0);
  database.close();
});
