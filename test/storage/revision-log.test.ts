import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { type KeyRange, RevisionLog, siteMigrations } from "../../storage/revision-log.ts";

const pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 512,
  mmapMiB: 0,
  walAutocheckpointPages: 1000,
  journalSizeLimitKiB: 1024,
} as const;

const open = (file = ":memory:"): Database => Database.open({ file, migrations: siteMigrations, pragmas });

const all: KeyRange = { from: "pods/", to: "pods0" };
const state = (revision: number): string => `state ${revision}`;

let database: Database;
let log: RevisionLog;

beforeEach(() => {
  database = open();
  log = new RevisionLog(database);
});

afterEach(() => database.close());

const keysAt = (revision: number, range = all): string[] => log.page(range, revision, 100).map(({ key }) => key);

describe("writing", () => {
  test("every write is a new revision, which the value contains", () => {
    expect(log.revision).toBe(0);
    expect(log.create("pods/a", state)).toEqual({ key: "pods/a", revision: 1, value: "state 1" });
    expect(log.update("pods/a", 1, state)).toEqual({ key: "pods/a", revision: 2, value: "state 2" });
    expect(log.get("pods/a")).toMatchObject({ revision: 2, value: "state 2" });
    expect(log.revision).toBe(2);
  });

  test("the second of two writers on the same state is refused, and nothing is written", () => {
    log.create("pods/a", state);
    expect(log.update("pods/a", 1, () => "first")).toBeDefined();
    expect(log.update("pods/a", 1, () => "second")).toBeUndefined();
    expect(log.remove("pods/a", 1, () => "second")).toBeUndefined();
    expect(log.get("pods/a")).toMatchObject({ value: "first" });
    expect(log.revision).toBe(2);
  });

  test("a key is created once, and can be created again after it was deleted", () => {
    log.create("pods/a", state);
    expect(log.create("pods/a", state)).toBeUndefined();
    log.remove("pods/a", 1, state);
    expect(log.get("pods/a")).toBeUndefined();
    expect(log.update("pods/a", 2, state)).toBeUndefined();
    expect(log.create("pods/a", state)).toMatchObject({ revision: 3 });
  });

  test("a revision that never existed cannot be followed", () => {
    log.create("pods/a", state);
    log.create("pods/b", state);
    expect(log.update("pods/a", 2, state)).toBeUndefined();
    expect(log.update("pods/c", 0, state)).toBeUndefined();
  });

  test("a value that cannot be built leaves nothing behind", () => {
    const broken = (): string => {
      throw new Error("no value");
    };
    expect(() => log.create("pods/a", broken)).toThrow("no value");
    expect(log.revision).toBe(0);
    expect(log.create("pods/a", state)).toMatchObject({ revision: 1 });
  });
});

describe("reading", () => {
  beforeEach(() => {
    log.create("pods/a", state); // 1
    log.create("pods/b", state); // 2
    log.create("nodes/n", state); // 3
    log.update("pods/a", 1, state); // 4
    log.remove("pods/b", 2, () => "last of b"); // 5
    log.create("pods/c", state); // 6
  });

  test("a range can be read at any revision", () => {
    expect(keysAt(0)).toEqual([]);
    expect(keysAt(2)).toEqual(["pods/a", "pods/b"]);
    expect(keysAt(5)).toEqual(["pods/a"]);
    expect(keysAt(6)).toEqual(["pods/a", "pods/c"]);
    expect(log.page(all, 3, 1)).toEqual([{ key: "pods/a", revision: 1, value: "state 1" }]);
    expect(log.page(all, 4, 1)).toEqual([{ key: "pods/a", revision: 4, value: "state 4" }]);
    expect([log.count(all, 2), log.count(all, 5)]).toEqual([2, 1]);
  });

  test("pages continue after the last key, and a single key is a range of its own", () => {
    expect(keysAt(6, { from: "pods/a\0", to: "pods0" })).toEqual(["pods/c"]);
    expect(keysAt(6, { from: "pods/a", to: "pods/a\0" })).toEqual(["pods/a"]);
  });

  test("changes are returned in order, with the state before them", () => {
    expect(log.after(1, all, 100)).toEqual([
      { key: "pods/b", revision: 2, value: "state 2", deleted: false, before: undefined },
      { key: "pods/a", revision: 4, value: "state 4", deleted: false, before: "state 1" },
      { key: "pods/b", revision: 5, value: "last of b", deleted: true, before: "state 2" },
      { key: "pods/c", revision: 6, value: "state 6", deleted: false, before: undefined },
    ]);
    expect(log.after(1, all, 2).map(({ revision }) => revision)).toEqual([2, 4]);
    expect(log.after(6, all, 100)).toEqual([]);
  });

  test("a key created again after its deletion has no state before", () => {
    log.create("pods/b", state);
    expect(log.after(6, all, 100)).toMatchObject([{ key: "pods/b", revision: 7, before: undefined }]);
  });
});

describe("compaction", () => {
  beforeEach(() => {
    log.create("pods/a", state); // 1
    log.create("pods/b", state); // 2
    log.update("pods/a", 1, state); // 3
    log.remove("pods/b", 2, state); // 4
    log.update("pods/a", 3, state); // 5
  });

  const rows = (): number => database.prepare<{ n: number }>("SELECT count(*) AS n FROM log").get()?.n ?? 0;

  test("drops superseded and deleted states, and keeps every later state readable", () => {
    expect(log.compact(4, 100)).toBe(false);
    expect(log.compacted).toBe(4);
    expect(rows()).toBe(2);
    expect(log.page(all, 4, 10)).toEqual([{ key: "pods/a", revision: 3, value: "state 3" }]);
    expect(log.page(all, 5, 10)).toEqual([{ key: "pods/a", revision: 5, value: "state 5" }]);
    expect(log.after(4, all, 10)).toMatchObject([{ revision: 5, before: "state 3" }]);
  });

  test("takes bounded steps and stores its progress", () => {
    expect(log.compact(5, 2)).toBe(true);
    expect(log.compacted).toBe(2);
    expect(rows()).toBe(5);
    expect(log.compact(5, 2)).toBe(true);
    expect(log.compact(5, 2)).toBe(false);
    expect(log.compacted).toBe(5);
    expect(rows()).toBe(1);
    expect(log.compact(5, 2)).toBe(false);
  });

  test("does not use a revision twice, even if the newest row is gone", () => {
    log.remove("pods/a", 5, state);
    log.compact(6, 100);
    expect(rows()).toBe(0);
    expect(log.revision).toBe(6);
    expect(log.create("pods/a", state)).toMatchObject({ revision: 7 });
    expect(log.create("pods/b", state)).toMatchObject({ revision: 8 });
  });

  test("does not reach beyond the written revisions", () => {
    expect(log.compact(1000, 2000)).toBe(false);
    expect(log.compacted).toBe(5);
  });
});

test("a log that is opened again continues where it ended", () => {
  const file = path.join(tmpdir(), `revision-log-${process.pid}.db`);
  rmSync(file, { force: true });
  const first = open(file);
  const before = new RevisionLog(first);
  before.create("pods/a", state);
  before.create("pods/b", state);
  before.compact(1, 10);
  first.close();
  const second = open(file);
  try {
    const after = new RevisionLog(second);
    expect([after.revision, after.compacted]).toEqual([2, 1]);
    expect(after.update("pods/a", 1, state)).toMatchObject({ revision: 3 });
  } finally {
    second.close();
    rmSync(file, { force: true });
  }
});
