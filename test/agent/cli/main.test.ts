import { execFile, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { snapshot } from "../../../agent/status/snapshot.ts";
import { isBuilt, shipped } from "../../support/shipped.ts";
import { healthy } from "../../support/site-status.ts";

const built = test.skipIf(!isBuilt);
const folder = mkdtempSync(path.join(tmpdir(), "siteward-main-"));
afterAll(() => rmSync(folder, { recursive: true }));

function siteward(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [shipped, ...argv],
      { env: { PATH: process.env.PATH ?? "", ...env } },
      (error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

built("siteward status reports an absent agent in its exit code, from any folder", async () => {
  const file = path.join(folder, "status.json");
  writeFileSync(file, JSON.stringify(snapshot(healthy(), undefined)));
  const stale = await siteward(["status", "--file", file]);
  expect(stale.code).toBe(3);
  expect(stale.stdout).toMatch(/^STALE {2}last update/);
  const absent = await siteward(["status"], { SITEWARD_RUN_FOLDER: path.join(folder, "nowhere") });
  expect(absent).toMatchObject({ code: 3, stdout: expect.stringContaining("NOT RUNNING") });
});

built("a wrong command line gives one line on stderr and exit code 64", async () => {
  expect(await siteward(["staus"])).toEqual({
    code: 64,
    stdout: "",
    stderr: 'siteward: "staus" is not a command; did you mean status? (see: siteward help)\n',
  });
});

built("output to a full disk fails with a sentence that says so and exit code 74", () => {
  const full = openSync("/dev/full", "w");
  const { status, stderr } = spawnSync(process.execPath, [shipped, "help"], {
    stdio: ["ignore", full, "pipe"],
    encoding: "utf8",
  });
  closeSync(full);
  expect(stderr).toMatch(/^siteward: the output cannot be written: ENOSPC: .*\n$/);
  expect(status).toBe(74);
});

built("an unusable configuration gives exit code 78 and a list of every problem", async () => {
  const file = path.join(folder, "wrong.yaml");
  writeFileSync(file, "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\nlog: {level: loud, colour: red}\n");
  const { code, stderr } = await siteward(["run", "--config", file]);
  expect(code).toBe(78);
  expect(stderr.split("\n")).toHaveLength(3);
});

built("the shipped program finds its own version and its firmware profiles", async () => {
  expect((await siteward(["version"])).stdout).toMatch(/^siteward \d/);
  const { code, stderr } = await siteward(["config", "show", "--origin"], { SITEWARD_BOARD_NAME: "pi-3" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

built("a reader that closes the pipe early ends the program quietly", async () => {
  const child = spawn("sh", ["-c", `"${process.execPath}" "${shipped}" config reference; echo "code $?" >&2`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let errors = "";
  child.stderr.on("data", (text) => {
    errors += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  expect(errors).toBe("code 0\n");
});

built("status --watch ends at SIGTERM with the code of the last status", async () => {
  const child = spawn(process.execPath, [shipped, "status", "--file", path.join(folder, "none"), "--watch", "60"]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGTERM");
  expect(await new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)))).toBe(3);
});
