import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import type { Migration } from "../../../storage/database/migrations.ts";
import { pragmas, rowsOf, scratch } from "../object-store.ts";

const migrations: readonly Migration[] = [{ number: 1, sql: "CREATE TABLE facts (name TEXT PRIMARY KEY, value)" }];

const memory = (): Database => Database.open({ file: ":memory:", migrations, pragmas });
const insert = (database: Database, name: string): number =>
  database.prepare("INSERT INTO facts (name) VALUES (?)").run(name);

test("the requested pragmas are in force", () => {
  using folder = scratch();
  const database = Database.open({
    file: folder.file("x.db"),
    migrations,
    pragmas: { ...pragmas, synchronous: "FULL" },
  });
  const pragma = (name: string): unknown => Object.values(database.prepare<object>(`PRAGMA ${name}`).get() ?? {})[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(2);
  expect(pragma("cache_size")).toBe(-1024);
  expect(pragma("wal_autocheckpoint")).toBe(400);
  expect(pragma("journal_size_limit")).toBe(1024 * 1024);
  database.close();
});

test("a transaction that fails leaves nothing", () => {
  const database = memory();
  expect(() =>
    database.transaction(() => {
      insert(database, "a");
      throw new Error("half-way");
    }),
  ).toThrow("half-way");
  expect(rowsOf(database, "facts")).toBe(0);
  expect(database.inTransaction).toBe(false);
  database.transaction(() => insert(database, "b"));
  expect(rowsOf(database, "facts")).toBe(1);
});

test("a transaction inside another is part of it", () => {
  const database = memory();
  expect(database.transaction(() => database.transaction(() => insert(database, "a")))).toBe(1);
  expect(() =>
    database.transaction(() => {
      database.transaction(() => insert(database, "b"));
      throw new Error("later");
    }),
  ).toThrow("later");
  expect(rowsOf(database, "facts")).toBe(1);
});

test("a failing inner part rolls back the whole transaction, even if the error is caught", () => {
  const database = memory();
  expect(() =>
    database.transaction(() => {
      insert(database, "a");
      try {
        database.transaction(() => {
          insert(database, "b");
          throw new Error("inner");
        });
      } catch {
        insert(database, "c");
      }
    }),
  ).toThrow("inner");
  expect(rowsOf(database, "facts")).toBe(0);
});

test("a transaction cannot wait for anything asynchronous", () => {
  const database = memory();
  expect(() => database.transaction(async () => insert(database, "a"))).toThrow("cannot wait");
  expect(rowsOf(database, "facts")).toBe(0);
});

test("a statement is prepared once per SQL string", () => {
  const database = memory();
  expect(database.prepare("SELECT 1")).toBe(database.prepare("SELECT 1"));
});

test("a closed file has no WAL left, and an open file reports its WAL", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const database = Database.open({ file, migrations, pragmas });
  insert(database, "a");
  expect(database.sizes().wal).toBeGreaterThan(0);
  database.checkpoint();
  expect(database.sizes().wal).toBe(0);
  expect(database.sizes().file).toBeGreaterThan(0);
  database.close();
  expect(memory().sizes()).toEqual({ file: 0, wal: 0 });
});

test("a missing folder is an error that a person has to fix", () => {
  using folder = scratch();
  expect(() => Database.open({ file: folder.file("nowhere/x.db"), migrations, pragmas })).toThrow(
    expect.objectContaining({ kind: "io", disposition: "exit", hint: expect.stringContaining("folder") }),
  );
});

test("a file that another process is writing is busy, and the write can be retried", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const [one, other] = [Database.open({ file, migrations, pragmas }), Database.open({ file, migrations, pragmas })];
  one.transaction(() => {
    expect(() => insert(other, "a")).toThrow(expect.objectContaining({ kind: "busy", disposition: "retry" }));
  });
  expect(insert(other, "a")).toBe(1);
  one.close();
  other.close();
});

test("changes by another program to a file in use are damage, regardless of what SQLite calls them", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const database = Database.open({ file, migrations, pragmas });
  insert(database, "a");
  const other = new Sqlite(file, { timeout: 0 });
  other.exec("DROP TABLE facts");
  other.close();
  expect(() => insert(database, "b")).toThrow(expect.objectContaining({ kind: "damaged", disposition: "rebuild" }));
  database.closeWithoutCheckpoint();
});

test("a bug in a statement is not blamed on the file", () => {
  const database = memory();
  insert(database, "a");
  expect(() => insert(database, "a")).toThrow(expect.not.objectContaining({ disposition: expect.anything() }));
  expect(() => database.prepare("SELECT nonsense")).toThrow(expect.objectContaining({ code: "SQLITE_ERROR" }));
});

test("checkWritable proves that a change could be committed, and writes nothing", () => {
  using folder = scratch();
  const options = { file: folder.file("x.db"), migrations, pragmas };
  const database = Database.open(options);
  insert(database, "a");
  const before = database.sizes();
  for (let count = 0; count < 100; count++) database.checkWritable();
  expect(database.sizes()).toEqual(before);
  const other = Database.open(options);
  other.prepare("BEGIN IMMEDIATE").run();
  expect(() => database.checkWritable()).toThrow();
  other.prepare("ROLLBACK").run();
  database.checkWritable();
  other.close();
  database.close();
});

test("releasing memory of SQLite does not lose content", () => {
  const database = memory();
  insert(database, "a");
  database.shrink();
  expect(rowsOf(database, "facts")).toBe(1);
});
