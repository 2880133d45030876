import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { finish, isUnfinished, type WantedFile, writeAll } from "../../../agent/enroll/file-set.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);
const files = (round: string): readonly WantedFile[] =>
  ["key", "crt", "settings"].map((name) => ({ path: at(`${name}/${name}`), text: `${name} ${round}`, mode: 0o600 }));
const found = (): readonly string[] =>
  ["key", "crt", "settings"].map((name) =>
    existsSync(at(`${name}/${name}`)) ? readFileSync(at(`${name}/${name}`), "utf8") : "-",
  );

test("all files exist with their modes, regardless of the umask, and no temporary file is left", () => {
  const before = process.umask(0);
  try {
    writeAll(files("1"), at("ledger"));
  } finally {
    process.umask(before);
  }
  expect(found()).toEqual(["key 1", "crt 1", "settings 1"]);
  expect(statSync(at("key/key")).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).sort()).toEqual(["crt", "key", "settings"]);
  expect(readdirSync(at("key"))).toEqual(["key"]);
});

test("a process that has the previous key open continues to read that key", () => {
  writeAll(files("1"), at("ledger"));
  const inode = statSync(at("key/key")).ino;
  writeAll(files("2"), at("ledger"));
  expect(statSync(at("key/key")).ino).not.toBe(inode);
});

/** Runs the work and cuts it off after so many calls that change the disk; answers whether it was cut. */
async function cutAfter(calls: number): Promise<boolean> {
  const { spawnSync } = await import("node:child_process");
  const script = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    let left = ${calls};
    for (const name of ["openSync", "writeFileSync", "renameSync", "rmSync", "mkdirSync"]) {
      const real = fs[name];
      fs[name] = (...args) => {
        if (args[0] === 1 || args[1] === "r") return real(...args);
        if (left-- <= 0) process.kill(process.pid, "SIGKILL");
        return real(...args);
      };
    }
    syncBuiltinESMExports();
    const { writeAll } = await import(${JSON.stringify(path.resolve("agent/enroll/file-set.ts"))});
    writeAll(${JSON.stringify(files("2"))}, ${JSON.stringify(at("ledger"))});
  `;
  const ended = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  if (ended.signal !== "SIGKILL" && ended.status !== 0) throw new Error(ended.stderr);
  return ended.signal === "SIGKILL";
}

test("after an interruption at any step, either nothing has changed or the next run completes it", async () => {
  const outcomes = new Set<string>();
  for (let calls = 0; calls < 60; calls++) {
    rmSync(folder, { recursive: true });
    (await import("node:fs")).mkdirSync(folder);
    writeAll(files("1"), at("ledger"));
    const isCut = await cutAfter(calls);
    if (isUnfinished(at("ledger"))) {
      finish(at("ledger"));
      expect(found(), `after ${calls} calls`).toEqual(["key 2", "crt 2", "settings 2"]);
      outcomes.add("ended by the next run");
    } else if (isCut) {
      const now = found();
      expect(
        [files("1"), files("2")].map((all) => all.map(({ text }) => text)),
        `after ${calls} calls`,
      ).toContainEqual(now);
      outcomes.add(now[0] === "key 1" ? "as before" : "done");
    }
    if (!isCut) break;
  }
  expect([...outcomes].sort()).toEqual(["as before", "ended by the next run"]);
}, 120_000);

test("temporary files left by a power cut do not prevent the next enrolment", () => {
  writeAll(files("1"), at("ledger"));
  writeFileSync(at("key/key.enrolling"), "half a k");
  writeAll(files("3"), at("ledger"));
  expect(found()).toEqual(["key 3", "crt 3", "settings 3"]);
});
