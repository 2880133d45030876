import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../storage/database.ts";
import { Memo } from "../../storage/memo.ts";
import { StateFolder } from "../../storage/state-folder.ts";
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
