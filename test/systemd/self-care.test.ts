import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Board, root, whyNoHost } from "./board.ts";
import { bundleWith } from "./bundle-with.ts";

/** The shipped program with two modules replaced: a controller whose pass never ends, and a shorter limit for it. */
const defects = {
  "agent/controllers/pod-gc/controller.ts": `
    import { podGC as real } from "original:agent/controllers/pod-gc/controller.ts";
    export const podGC = (parts) => ({ ...real(parts), observe: () => new Promise(() => {}) });`,
  "agent/status/watchdog-limits.ts": "export const watchdogLimits = () => () => 8000;",
};

/** The shipped module with shorter times: the shipped limit is a quarter of an hour. */
function hurried(file: string, times: Readonly<Record<string, string>>): string {
  let text = readFileSync(path.join(root, file), "utf8");
  for (const [from, to] of Object.entries(times)) {
    expect(text.split(from), `${file} holds ${from} once`).toHaveLength(2);
    text = text.replace(from, to);
  }
  return text;
}

describe.skipIf(whyNoHost !== undefined)("an agent above its memory limit", () => {
  let board: Board;
  let dist: string;

  beforeAll(async () => {
    dist = mkdtempSync("/var/tmp/siteward-hurried-");
    const guard = "agent/status/memory-guard.ts";
    await bundleWith(dist, {
      [guard]: hurried(guard, {
        "worthRestart: Millis = 900_000": "worthRestart: Millis = 4000",
        "sampleEvery: Millis = 15_000": "sampleEvery: Millis = 2000",
      }),
    });
    board = await Board.make({ dist });
    await board.site();
  });

  afterAll(async () => {
    await board?.end();
    rmSync(dist, { recursive: true });
  });

  test("drops its caches, then exits cleanly, and the next process reports why", async () => {
    await board.configure({ memory: { soft: "32MiB", hard: "40MiB" } });
    await board.start();
    const pid = await board.pid();
    await board.host.until("siteward", { NRestarts: "1", ActiveState: "active" }, 60);
    const status = await board.untilStatus("the next process", (next) => next.pid !== pid);
    expect(status.previous).toMatchObject({ cause: "memory", message: expect.stringMatching(/MiB of memory/) });
    expect(status.memory).toMatchObject({ softBytes: 32 * 2 ** 20, hardBytes: 40 * 2 ** 20 });
    const said = await board.journal();
    expect(said).toMatch(
      /memory above memory.soft: caches dropped(.*\n)+.*memory above memory.hard: the agent restarts/,
    );
    expect(said).toMatch(/lease released(.*\n)+.*stopped .*cause=memory/);
  });
});

describe.skipIf(whyNoHost !== undefined)("a controller whose pass never ends", () => {
  let board: Board;
  let dist: string;

  beforeAll(async () => {
    // The host has its own /tmp.
    dist = mkdtempSync("/var/tmp/siteward-defect-");
    await bundleWith(dist, defects);
    board = await Board.make({ dist });
    await board.site();
    await board.drop("watchdog", "WatchdogSec=6");
  });

  afterAll(async () => {
    await board?.end();
    rmSync(dist, { recursive: true });
  });

  test("is detected although the event loop runs: the agent names it, and systemd restarts the service", async () => {
    await board.start();
    const pid = await board.pid();
    const stuck = await board.untilStatus(
      "the loop is named",
      ({ health }) => health.conditions.some(({ type, subject }) => type === "LoopStuck" && subject === "pod-gc"),
      60,
    );
    // Everything else continues: the status is written, the Lease is renewed, the other controllers work.
    expect(stuck).toMatchObject({ pid, leader: { role: "leader" }, health: { level: "critical" } });
    await board.host.until("siteward", { NRestarts: "1", ActiveState: "active" }, 60);
    const status = await board.untilStatus("the next process", (next) => next.pid !== pid);
    expect(status.previous).toMatchObject({
      cause: "watchdog",
      message: expect.stringMatching(/^pod-gc has made no progress/),
    });
    expect(await board.journal("-p", "err")).toContain("loop=pod-gc");
    expect(await board.host.sh("journalctl --no-pager | grep -c 'siteward.service: Watchdog timeout'")).toBe("1");
  });
});
