import { expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { LargeBodies, largeFrom } from "../../storage/large-bodies.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { pragmas } from "./object-store.ts";

const open = (): Database =>
  Database.open({ file: ":memory:", migrations: cacheMigrations, pragmas: { ...pragmas, synchronous: "NORMAL" } });

function put(database: Database, key: string, text: string): void {
  database
    .prepareOnce("INSERT INTO objects (resource, key, uid, version, text) VALUES (1, ?, '1', '1', ?)")
    .run(key, text);
}

function queue(database: Database, key: string, text: string | null): void {
  database
    .prepareOnce("INSERT INTO journal (resource, key, type, uid, version, text) VALUES (1, ?, 'Added', '1', '1', ?)")
    .run(key, text);
}

test("only bodies above the limit count, with those that wait in the journal", () => {
  const database = open();
  const large = new LargeBodies(database);
  expect([large.bytes(), large.bytesIn("a")]).toEqual([0, 0]);
  put(database, "a/exact", "x".repeat(largeFrom));
  put(database, "a/above", "x".repeat(largeFrom + 1));
  queue(database, "a/above", "x".repeat(50_000));
  queue(database, "a/gone", null);
  put(database, "b/umlauts", "ä".repeat(20_000));
  expect(large.bytes()).toBe(largeFrom + 1 + 50_000 + 40_000);
  database.close();
});

test("a namespace has its own bodies, not those of a namespace whose name begins like its own", () => {
  const database = open();
  const large = new LargeBodies(database);
  for (const [key, bytes] of [
    ["a", 40_000],
    ["a/1", 50_000],
    ["a-b/1", 60_000],
    ["ab/1", 70_000],
    ["a0/1", 80_000],
  ] as const) {
    put(database, key, "x".repeat(bytes));
  }
  expect(["a", "a-b", "ab", "a0", "b"].map((name) => large.bytesIn(name))).toEqual([50_000, 60_000, 70_000, 80_000, 0]);
  database.close();
});

test("their sum is read from the indices, not from the bodies", () => {
  const database = open();
  for (const table of ["objects", "journal"]) {
    const sum = `SELECT sum(octet_length(text)) FROM ${table} WHERE octet_length(text) > 32768`;
    for (const sql of [sum, `${sum} AND key >= 'a/' AND key < 'a0'`]) {
      const plan = database.prepareOnce<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
      expect(plan.map(({ detail }) => detail).join()).toContain("USING COVERING INDEX large_");
    }
  }
  database.close();
});
