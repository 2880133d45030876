import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../storage/database/database.ts";
import { openState } from "../../storage/database/open.ts";
import { Memo } from "../../storage/memo.ts";
import { stateMigrations } from "../../storage/schema.ts";
import { pragmas, scratch } from "./object-store.ts";

async function holderOf(file: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "lock-holder.ts"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

test("a state file that one process holds cannot be opened by another, and is free as soon as that process is killed", async () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const holder = await holderOf(file);
  const open = () => openState({ file, pragmas, stamp: "second", exclusive: true });
  expect(open).toThrow(
    expect.objectContaining({
      kind: "busy",
      hint: expect.stringContaining("Another agent uses this state folder"),
    }),
  );
  expect(() => Database.open({ file, pragmas, migrations: stateMigrations })).toThrow(
    expect.objectContaining({ kind: "busy" }),
  );
  const gone = new Promise((resolve) => holder.once("exit", resolve));
  holder.kill("SIGKILL");
  await gone;
  const { database, setAside } = open();
  expect(setAside).toBeUndefined();
  database.close();
});

test("rows written under the lock survive a crash, and no shared memory file is left behind", () => {
  using folder = scratch();
  const file = folder.file("state.db");
  const first = openState({ file, pragmas: { ...pragmas, synchronous: "FULL" }, stamp: "a", exclusive: true });
  new Memo(first.database).set("leader", "term", "7");
  expect(readdirSync(path.dirname(file)).sort()).toEqual(["state.db", "state.db-wal"]);
  first.database.closeWithoutCheckpoint();
  const second = openState({ file, pragmas, stamp: "b", exclusive: true });
  expect(new Memo(second.database).get("leader", "term")).toBe("7");
  second.database.close();
});
