import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compactFile } from "../../../storage/database/compaction.ts";
import { inspect } from "../../../storage/database/inspection.ts";
import { Memo } from "../../../storage/memo.ts";
import { StateFolder } from "../../../storage/state-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-compaction-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);
const pragmas = { cacheKiB: 256, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 1024 };
const open = (): StateFolder => StateFolder.open({ folder, pragmas, stamp: "1" });

test("deleted rows are removed from the file, the other rows are kept, and it remains the same file", () => {
  const mine = open();
  const memo = new Memo(mine.state.database);
  memo.set("kept", "seen", "17");
  for (let n = 0; n < 200; n++) memo.set("gone", `key-${n}`, "x".repeat(1000));
  for (let n = 0; n < 200; n++) memo.delete("gone", `key-${n}`);
  mine.close();
  const { ino } = statSync(at("state.db"));
  const done = compactFile(at("state.db"));
  expect(done).toMatchObject({ kind: "compacted", before: expect.any(Number) });
  if (done.kind === "compacted") expect(done.after).toBeLessThan(done.before / 2);
  // Another file would belong to the user who did this, and the agent could not write it.
  expect(statSync(at("state.db")).ino).toBe(ino);
  expect(readdirSync(folder).sort()).toEqual(["cache.db", "state.db"]);
  const again = open();
  expect(again.state.setAside).toBeUndefined();
  expect(new Memo(again.state.database).get("kept", "seen")).toBe("17");
  again.close();
});

test("no file is created, and a damaged file is left for its agent to set aside", () => {
  expect(compactFile(at("cache.db"))).toEqual({ kind: "absent" });
  const garbage = "this is no database, however long it is".repeat(100);
  writeFileSync(at("state.db"), garbage);
  expect(compactFile(at("state.db"))).toMatchObject({ kind: "damaged" });
  expect(readFileSync(at("state.db"), "utf8")).toBe(garbage);
  expect(readdirSync(folder)).toEqual(["state.db"]);
});

test("a file that its agent has open is not changed", () => {
  const mine = open();
  expect(compactFile(at("state.db"))).toEqual({ kind: "busy" });
  mine.close();
  expect(inspect(at("state.db"), false)).toMatchObject({ kind: "sound" });
});
