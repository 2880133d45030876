import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inspect, journalTail } from "../../../storage/database/inspection.ts";
import { Memo } from "../../../storage/memo.ts";
import { StateFolder } from "../../../storage/state-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-inspection-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);
const pragmas = { cacheKiB: 256, mmapMiB: 0, walAutocheckpointPages: 1000, journalSizeLimitKiB: 1024 };
const open = (): StateFolder => StateFolder.open({ folder, pragmas, stamp: "1" });
const rowsOf = (name: string, found: ReturnType<typeof inspect>): number | undefined =>
  found.kind === "sound" ? found.tables.find((table) => table.name === name)?.rows : undefined;

test("a missing file is reported as such, and a file that is not a database is damaged", () => {
  expect(inspect(at("state.db"), false)).toEqual({ kind: "absent" });
  writeFileSync(at("state.db"), "this is no database, however long it is".repeat(100));
  expect(inspect(at("state.db"), false)).toMatchObject({ kind: "damaged" });
});

test("committed rows are counted, including those in the WAL, and the inspection leaves the folder unchanged", () => {
  const mine = open();
  new Memo(mine.state.database).set("leader", "seen", "17");
  const before = readdirSync(folder).sort();
  // As after a power cut: no process has it open, and the log is not folded in.
  const found = inspect(at("state.db"), false);
  expect(rowsOf("memo", found)).toBe(2);
  expect(found).toMatchObject({ kind: "sound", walBytes: expect.any(Number) });
  expect(readdirSync(folder).sort()).toEqual(before);
  mine.close();
  expect(inspect(at("state.db"), false)).toMatchObject({ kind: "sound", walBytes: 0 });
});

test("while an agent has the files open, state.db is busy and cache.db can be read", () => {
  const mine = open();
  expect(inspect(at("state.db"), true)).toEqual({ kind: "busy" });
  expect(inspect(at("cache.db"), true)).toMatchObject({ kind: "sound" });
  expect(inspect(at("cache.db"), true, "counts")).toMatchObject({ kind: "sound" });
  mine.close();
});

test("the newest waiting messages are returned, the newest one last", () => {
  open().close();
  const driver = new Sqlite(at("cache.db"), { timeout: 100 });
  driver.exec(`INSERT INTO resources (id, name) VALUES (1, 'nodes'), (2, 'pods');
    INSERT INTO journal (seq, resource, key, type, uid, version) VALUES
      (1, 1, 'pi-1', 'Added', 'a', '10'), (2, 2, 'default/web', 'Updated', 'b', '11'), (3, 1, 'pi-1', 'Deleted', 'a', '12');`);
  driver.close();
  expect(journalTail(at("cache.db"), false, 2)).toEqual([
    { seq: 2, resource: "pods", type: "Updated", key: "default/web", version: "11" },
    { seq: 3, resource: "nodes", type: "Deleted", key: "pi-1", version: "12" },
  ]);
});

test("an unreadable file has no waiting messages, and the reason is returned", () => {
  expect(journalTail(at("cache.db"), false, 2)).toEqual({ kind: "absent" });
  writeFileSync(at("cache.db"), "this is no database, however long it is".repeat(100));
  expect(journalTail(at("cache.db"), false, 2)).toMatchObject({ kind: "damaged" });
  // The system refuses to look, as it does for a user who may not: it is not said that the file is not there.
  symlinkSync("state.db", at("state.db"));
  expect(inspect(at("state.db"), false)).toMatchObject({
    kind: "unreadable",
    why: expect.stringContaining("state.db"),
  });
});
