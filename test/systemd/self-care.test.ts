import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Board, root, whyNoHost } from "./board.ts";
import { bundleWith } from "./bundle-with.ts";

/** The shipped program with two modules replaced: a controller whose pass never ends, and less patience with it. */
const defects = {
  "agent/controllers/pod-gc/controller.ts": `
    import { podGC as real } from "original:agent/controllers/pod-gc/controller.ts";
    export const podGC = (parts) => ({ ...real(parts), observe: () => new Promise(() => {}) });`,
  "agent/status/watchdog-limits.ts": "export const watchdogLimits = () => () => 8000;",
};

/** The shipped text with other times: nobody waits a quarter of an hour for a story. */
function hurried(file: string, times: Readonly<Record<string, string>>): string {
  let text = readFileSync(path.join(root, file), "utf8");
  for (const [from, to] of Object.entries(times)) {
    expect(text.split(from), `${file} holds ${from} once`).toHaveLength(2);
    text = text.replace(from, to);
  }
  return text;
}

describe.skipIf(whyNoHost !== undefined)("an agent that takes more memory than it may", () => {
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

  test("drops its caches, then ends in good order, and the next process tells why", async () => {
    await board.configure({ memory: { soft: "32MiB", hard: "40MiB" } });
    await board.start();
    const pid = await board.pid();
    await board.host.until("siteward", { NRestarts: "1", ActiveState: "active" }, 60);
    const status = await board.untilStatus("the next process", (next) => next.pid !== pid);
    expect(status.previous).toMatchObject({ cause: "memory", message: expect.stringMatching(/MiB of memory/) });
    expect(status.memory).toMatchObject({ softBytes: 32 * 2 ** 20, hardBytes: 40 * 2 ** 20 });
    const said = await board.journal();
    expect(said).toMatch(
      /memory above its soft limit: caches dropped(.*\n)+.*memory above its hard limit: the agent starts anew/,
    );
    expect(said).toMatch(/lease released(.*\n)+.*stopped .*cause=memory/);
  });
});

describe.skipIf(whyNoHost !== undefined)("a controller that never comes to an end", () => {
  let board: Board;
  let dist: string;

  beforeAll(async () => {
    // The host has a /tmp of its own.
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

  test("is noticed although the event loop lives: the agent names it, and systemd starts it anew", async () => {
    await board.start();
    const pid = await board.pid();
    const stuck = await board.untilStatus(
      "the loop is named",
      ({ health }) => health.conditions.some(({ type, subject }) => type === "LoopStuck" && subject === "pod-gc"),
      60,
    );
    // Everything else goes on: the status is written, the Lease is renewed, the other controllers work.
    expect(stuck).toMatchObject({ pid, leader: { role: "leader" }, health: { level: "critical" } });
    await board.host.until("siteward", { NRestarts: "1", ActiveState: "active" }, 60);
    const status = await board.untilStatus("the next process", (next) => next.pid !== pid);
    expect(status.previous).toMatchObject({
      cause: "watchdog",
      message: expect.stringMatching(/^pod-gc has not moved/),
    });
    expect(await board.journal("-p", "err")).toContain("loop=pod-gc");
    expect(await board.host.sh("journalctl --no-pager | grep -c 'siteward.service: Watchdog timeout'")).toBe("1");
  });
});
