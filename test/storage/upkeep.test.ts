import { expect, test } from "vitest";
import { Memo } from "../../storage/memo.ts";
import { openState } from "../../storage/open.ts";
import { Upkeep } from "../../storage/upkeep.ts";
import { pragmas, scratch } from "./things.ts";

const minute = 60_000;

test("the WAL is emptied after the period, and not before", () => {
  using folder = scratch();
  const { database } = openState({ file: folder.file("state.db"), pragmas, stamp: "x" });
  database.checkpoint();
  const upkeep = new Upkeep({ database, period: 10 * minute, walBytes: 1 << 20 });
  expect(upkeep.step(5 * minute).wal).toBe(0);
  new Memo(database).set("a", "k", "v");
  expect(upkeep.step(15 * minute - 1).wal).toBeGreaterThan(0);
  expect(upkeep.step(15 * minute).wal).toBe(0);
  new Memo(database).set("a", "k", "w");
  expect(upkeep.step(25 * minute - 1).wal).toBeGreaterThan(0);
  expect(upkeep.step(25 * minute).wal).toBe(0);
  database.close();
});

test("a WAL that has grown is emptied at once", () => {
  using folder = scratch();
  const { database } = openState({ file: folder.file("state.db"), pragmas, stamp: "x" });
  const upkeep = new Upkeep({ database, period: 10 * minute, walBytes: 100_000 });
  upkeep.step(0);
  new Memo(database).set("a", "k", "v".repeat(120_000));
  const { file, wal } = upkeep.step(1);
  expect(wal).toBe(0);
  expect(file).toBeGreaterThan(120_000);
  database.close();
});
