import { expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import type { Migration } from "../../../storage/database/migrations.ts";
import { siteMigrations } from "../../../storage/revision-log.ts";
import { cacheMigrations, stateMigrations } from "../../../storage/schema.ts";
import { pragmas, rowsOf, scratch } from "../object-store.ts";

const migrations: readonly Migration[] = [{ number: 1, sql: "CREATE TABLE facts (name TEXT PRIMARY KEY, value)" }];
const later: readonly Migration[] = [
  ...migrations,
  { number: 2, sql: "ALTER TABLE facts ADD COLUMN since TEXT; CREATE TABLE more (id INTEGER PRIMARY KEY)" },
];

test("an older file is brought up to date and keeps its rows", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const old = Database.open({ file, migrations, pragmas });
  old.prepare("INSERT INTO facts (name) VALUES (?)").run("a");
  old.close();
  const now = Database.open({ file, migrations: later, pragmas });
  expect(now.prepare("SELECT name, since FROM facts").get()).toEqual({ name: "a", since: null });
  expect(rowsOf(now, "more")).toBe(0);
  now.close();
});

test("a migration step that fails leaves the file at the previous step", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const broken = [...migrations, { number: 2, sql: "CREATE TABLE more (id INTEGER); CREATE TABLE facts (oops)" }];
  expect(() => Database.open({ file, migrations: broken, pragmas })).toThrow(
    expect.objectContaining({
      kind: "damaged",
      cause: expect.objectContaining({
        message: "migration step 2 failed",
        cause: expect.objectContaining({ message: "table facts already exists" }),
      }),
    }),
  );
  const again = Database.open({ file, migrations: later, pragmas });
  expect(rowsOf(again, "more")).toBe(0);
  again.close();
});

test("a newer file without any of our tables belongs to another program, and counts as damaged in this place", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const other = [
    { number: 1, sql: "CREATE TABLE something_else (a)" },
    { number: 2, sql: "CREATE TABLE one_more (a)" },
  ];
  Database.open({ file, migrations: other, pragmas }).close();
  expect(() => Database.open({ file, migrations, pragmas })).toThrow(expect.objectContaining({ kind: "damaged" }));
});

test("a file of a newer version is refused, unchanged, with a hint", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  Database.open({ file, migrations: later, pragmas }).close();
  expect(() => Database.open({ file, migrations, pragmas })).toThrow(
    expect.objectContaining({
      kind: "newer",
      disposition: "exit",
      file,
      message: expect.stringContaining("newer version"),
      hint: "Install that version again, or move the file away.",
      cause: expect.objectContaining({ message: "it has format 2; this version supports formats up to 1" }),
    }),
  );
  Database.open({ file, migrations: later, pragmas }).close();
});

test("a program of a format that `readableFrom` admits uses a newer file, and an older one does not", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const newest = [...later, { number: 3, readableFrom: 2, sql: "CREATE TABLE most (id INTEGER PRIMARY KEY)" }];
  Database.open({ file, migrations: newest, pragmas }).close();
  const older = Database.open({ file, migrations: later, pragmas });
  expect(rowsOf(older, "more")).toBe(0);
  older.close();
  expect(() => Database.open({ file, migrations, pragmas })).toThrow(expect.objectContaining({ kind: "newer" }));
});

test("what an older program wrote into a newer file is there after the update", () => {
  using folder = scratch();
  const file = folder.file("x.db");
  const newest = [...later, { number: 3, readableFrom: 2, sql: "CREATE TABLE most (id INTEGER PRIMARY KEY)" }];
  Database.open({ file, migrations: newest, pragmas }).close();
  const older = Database.open({ file, migrations: later, pragmas });
  older.prepare("INSERT INTO facts (name) VALUES (?)").run("a");
  older.close();
  const again = Database.open({ file, migrations: newest, pragmas });
  expect(rowsOf(again, "facts")).toBe(1);
  expect(rowsOf(again, "most")).toBe(0);
  again.close();
});

const step = (number: number, readableFrom?: number): Migration => ({
  number,
  sql: `CREATE TABLE table_${number} (id INTEGER)`,
  ...(readableFrom !== undefined && { readableFrom }),
});

/** As many steps as SQLite's `user_version` can number, and one more. */
const tooMany = Array.from({ length: 2 ** 15 }, (_, index) => step(index + 1));

test.each<[what: string, steps: readonly Migration[], message: string]>([
  ["are more than a file can number", tooMany, "there are more than 32767 migration steps"],
  ["do not begin with 1", [step(2)], "step 1 has the number 2"],
  ["begin with 0", [step(0), step(1)], "step 1 has the number 0"],
  ["have a gap", [step(1), step(2), step(4)], "step 3 has the number 4"],
  ["repeat a number", [step(1), step(2), step(2)], "step 3 has the number 2"],
  ["are out of order", [step(1), step(3), step(2)], "step 2 has the number 3"],
  [
    "let in a program that an earlier step excluded by its `readableFrom`",
    [step(1), step(2), step(3), step(4, 3), step(5, 2)],
    "step 5 cannot be readable from format 2",
  ],
  [
    "let in a program that an earlier step without `readableFrom` excluded",
    [step(1), step(2, 1), step(3), step(4, 2)],
    "step 4 cannot be readable from format 2",
  ],
  ["are readable only from a later format", [step(1), step(2, 3)], "step 2 cannot be readable from format 3"],
])("a program whose steps %s opens no file", (_, steps, message) => {
  expect(() => Database.open({ file: ":memory:", migrations: steps, pragmas })).toThrow(message);
});

test.each([
  ["cache.db", cacheMigrations],
  ["state.db", stateMigrations],
  ["site.db", siteMigrations],
])("the steps of %s keep the rules", (_, steps) => {
  Database.open({ file: ":memory:", migrations: steps, pragmas }).close();
});
