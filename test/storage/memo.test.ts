import { expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { Memo } from "../../storage/memo.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { pragmas } from "./object-store.ts";

const open = (): Database => Database.open({ file: ":memory:", migrations: stateMigrations, pragmas });

test("a fact is kept, replaced and deleted, within its area", () => {
  const memo = new Memo(open());
  expect(memo.get("commands", "17")).toBeUndefined();
  memo.set("commands", "17", "running");
  memo.set("commands", "17", "done");
  memo.set("config", "17", "other");
  expect(memo.get("commands", "17")).toBe("done");
  memo.delete("commands", "17");
  memo.delete("commands", "17");
  expect(memo.get("commands", "17")).toBeUndefined();
  expect(memo.get("config", "17")).toBe("other");
});

test("a known fact does not cost a write", () => {
  const database = open();
  const memo = new Memo(database);
  memo.set("a", "k", "v");
  const writes = database.prepare("SELECT total_changes()").get();
  memo.set("a", "k", "v");
  expect(database.prepare("SELECT total_changes()").get()).toEqual(writes);
});

test("a walk lists entries in key order; entries may be deleted during the iteration", () => {
  const memo = new Memo(open());
  const keys = Array.from({ length: 130 }, (_, at) => String(at).padStart(3, "0"));
  for (const key of keys.toReversed()) memo.set("a", key, `v${key}`);
  memo.set("b", "other", "x");
  const met: string[] = [];
  for (const [key, value] of memo.entries("a")) {
    expect(value).toBe(`v${key}`);
    met.push(key);
    memo.delete("a", key);
  }
  expect(met).toEqual(keys);
  expect([...memo.entries("a")]).toEqual([]);
});

test("an area is emptied as a whole, and the others are kept", () => {
  const memo = new Memo(open());
  for (const key of ["1", "2", "3"]) memo.set("a", key, "x");
  memo.set("b", "1", "kept");
  memo.clear("a");
  expect([...memo.entries("a")]).toEqual([]);
  expect(memo.get("b", "1")).toBe("kept");
});
