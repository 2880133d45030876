import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { nodeEnvironment, nodeFlags } from "../../../../agent/board/profile/runtime-flags.ts";

const shipped = (name: string): string =>
  readFileSync(path.resolve(import.meta.dirname, "../../../../systemd", name), "utf8");

/** The last one counts; an empty one before it takes those of the unit away. */
const startOf = (text: string): readonly string[] =>
  [...text.matchAll(/^ExecStart=(.+)$/gm)].at(-1)?.[1]?.split(" ") ?? [];

test("the service starts Node with the flags that the program expects", () => {
  const unit = shipped("siteward.service");
  expect(startOf(unit).filter((word) => word.startsWith("--"))).toEqual(nodeFlags);
  for (const [name, value] of Object.entries(nodeEnvironment)) expect(unit).toContain(`${name}=${value}`);
});

test.each(["20-openfile", "20-systemd-notify"])(
  "without perl (%s) the program starts with the same flags, but not through the launcher",
  (name) => {
    const launched = startOf(shipped("siteward.service"));
    expect(launched.slice(0, 2)).toEqual(["/usr/bin/perl", "/usr/lib/siteward/launch.pl"]);
    expect(startOf(shipped(`drop-ins/${name}.conf`))).toEqual(launched.slice(2));
    expect(shipped(`drop-ins/${name}.conf`)).toMatch(/^ExecStart=$/m);
  },
);

/** Holds all boards of a site at once, and lets go of them for the next pass; prints the most that the young generation had. */
const passes = `
const young = () => require("node:v8").getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
const times = ["Ready", "PIDPressure"].map((type) => ({ type, lastHeartbeatTime: "2026-01-01T00:00:00Z" }));
const board = JSON.stringify({ metadata: { uid: "x".repeat(36) }, status: { conditions: [...times, ...times] } });
let [most, kept] = [0, []];
for (let pass = 0; pass < 12; pass++) {
  const next = [];
  for (let i = 0; i < 10000; i++) {
    next.push(JSON.parse(board));
    if (i % 50 === 0) most = Math.max(most, young().physical_space_size);
  }
  kept = next;
}
console.log(most / 2 ** 20);`;

test("the young generation stays at two halves of 1 MB, even while a site of ten thousand boards is read", () => {
  const { stdout, stderr } = spawnSync(process.execPath, [...nodeFlags, "-e", passes], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(Number(stdout)).toBeGreaterThan(0.5);
  expect(Number(stdout)).toBeLessThanOrEqual(2.5);
});
