import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { play, storyTimeout } from "./play.ts";

/** Stories mostly wait, so they run concurrently. */
const atOnce = { timeout: storyTimeout, concurrent: true };
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "siteward-test-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

test("a story whose expectation fails reports the actual state and exits with 1", {
  timeout: storyTimeout,
}, async () => {
  const file = path.join(folder, "wrong.yaml");
  writeFileSync(
    file,
    `
name: wrong
boards: 1
steps:
  - { at: 1s, do: { power-off: pi-1 } }
  - { at: 1s, expect: { not-ready: pi-1, within: 1s } }
`,
  );
  const { exitCode, lines } = await play("--scenario", file);
  expect(lines.filter((line) => line.includes("FAILED"))).toEqual([
    expect.stringMatching(/FAILED not-ready pi-1 within 1s: pi-1 Ready/),
    expect.stringMatching(/wrong: FAILED expectations: 1/),
  ]);
  expect(exitCode).toBe(1);
});

test("--for stops a site cleanly and deletes its temporary folder", atOnce, async () => {
  const kubeconfig = path.join(folder, "kubeconfig");
  const { exitCode, lines } = await play("--boards", "1", "--zones", "1", "--for", "15s", "--kubeconfig", kubeconfig);
  expect(exitCode, lines.join("\n")).toBe(0);
  expect(lines.join("\n")).toContain(`kubectl --kubeconfig ${kubeconfig} get nodes`);
  const temporary = /Logs and files are in (\S+)\./.exec(lines.join("\n"))?.[1];
  expect(temporary).toBeDefined();
  expect(existsSync(temporary ?? "")).toBe(false);
});

test("the agents of a killed site stop cleanly", atOnce, async () => {
  const site = path.join(folder, "killed");
  const main = path.resolve(import.meta.dirname, "../../dist/main.js");
  const up = spawn(process.execPath, [main, "up", "--plain", "--port", "0", "--boards", "2", "--dir", site]);
  let said = "";
  up.stdout.on("data", (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said, { timeout: 60_000 }).toContain("the site is healthy");
  const agents = readFileSync(`/proc/${up.pid}/task/${up.pid}/children`, "utf8").trim().split(" ");
  expect(agents).toHaveLength(2);
  up.kill("SIGKILL");
  const left = (): readonly string[] => agents.filter((pid) => existsSync(`/proc/${pid}`));
  await expect.poll(left, { timeout: 15_000 }).toEqual([]);
  for (const board of ["pi-1", "pi-2"]) {
    expect(readFileSync(path.join(site, board, "agent.log"), "utf8")).toContain('"message":"stopped"');
  }
});

test("a scenario with mistakes starts nothing, and all mistakes are listed with exit code 64", {
  timeout: storyTimeout,
}, async () => {
  const file = path.join(folder, "bad.yaml");
  writeFileSync(file, "boards: none\nsteps:\n  - { at: 1s, do: { explode: pi-1 } }\n");
  const { exitCode, lines } = await play("--scenario", file);
  expect(exitCode).toBe(64);
  expect(lines.filter((line) => line.includes("bad.yaml")).length).toBeGreaterThan(1);
});
