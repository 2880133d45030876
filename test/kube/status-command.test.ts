import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";
import { siteward } from "../support/siteward-command.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  status: { minInterval: "200ms", every: "1s" },
  log: { level: "info", format: "json" },
};

describe.skipIf(missingAssets())("siteward status with real agents", () => {
  const site = new KubeSite();
  let leader: AgentProcess;
  let follower: AgentProcess;

  const status = (agent: AgentProcess, ...more: string[]) => siteward(["status", "--file", agent.statusFile, ...more]);

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 2, pods: 2, seed: 1 });
    site.beat(0, 1);
    leader = site.agent("pi-1", config);
    await until("pi-1 leads", () => leader.isReady, 20);
    follower = site.agent("pi-2", config);
    await until("pi-2 follows", () => follower.status()?.leader?.holder === "pi-1", 20);
  });
  afterAll(() => site.stop());

  test("without a status file the agent counts as not running (3), and an unreadable one is reported (4)", async () => {
    const nowhere = path.join(site.cluster.dir, "nowhere.json");
    expect(await siteward(["status", "--file", nowhere])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^NOT RUNNING {2}there is no .*nowhere\.json\n {2}-> start it/),
    });
    const other = path.join(site.cluster.dir, "other.json");
    writeFileSync(other, JSON.stringify({ schema: "siteward.status/9" }));
    expect(await siteward(["status", "--file", other])).toMatchObject({
      code: 4,
      stdout: "",
      stderr: expect.stringContaining("siteward.status/9"),
    });
  });

  test("the leader is healthy (0) and shows that it leads", async () => {
    const { code, stdout } = await status(leader);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^OK {2}pi-1 · site default/);
    expect(stdout).toMatch(
      /^Leader +this board, term \d+, since .*; lease \d+m?s old of 6s(, renew p95 \d+ ms)?, 0 missed$/m,
    );
  });

  test("a follower is healthy too (0), and shows the leading board and the age of its Lease", async () => {
    const { code, stdout } = await status(follower);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Leader +pi-1, term \d+, since .*; lease of 6s, read \d+m?s ago; this board is standby$/m);
    const age = follower.status()?.leader?.leaseAgeMs ?? Number.POSITIVE_INFINITY;
    // It sleeps until the observed term would end, plus one retry.
    expect(age).toBeLessThan(6000 + 2 * 1000 + 1000);
    expect(await status(follower, "--short")).toMatchObject({ code: 0, stdout: expect.stringMatching(/led by pi-1/) });
  });

  test("a suspended agent is stale after three seconds (3), and fresh again when it resumes", async () => {
    follower.suspend();
    await until("it is stale", async () => (await status(follower)).code === 3, 10);
    expect((await status(follower)).stdout).toMatch(
      new RegExp(
        `^STALE {2}last update \\S+ ago \\(pid ${follower.pid} exists but hangs; its status is stale after 3s\\)`,
      ),
    );
    follower.resume();
    await until("it is fresh", async () => (await status(follower)).code === 0, 10);
  });

  test("a degraded and a critical site have their own exit codes (1, 2)", async () => {
    await site.cluster.killApi();
    // The watches break before the first request fails.
    const isTold = async (): Promise<boolean> =>
      /^DEGRADED .*\n {2}! ApiUnreachable/.test((await status(leader)).stdout);
    await until("degraded", isTold, 20);
    expect((await status(leader)).code).toBe(1);
    await site.cluster.startApi();
    await until("well", async () => (await status(leader)).code === 0 || (await status(follower)).code === 0, 40);

    const stranger = site.agent("pi-9", config, path.join(site.cluster.dir, "no-kubeconfig"));
    await until("critical", async () => (await status(stranger)).code === 2, 10);
    await stranger.stop();
  });

  test("a killed agent is stale immediately (3), because its process has ended", async () => {
    const { pid } = leader;
    await leader.stop("SIGKILL");
    expect(await status(leader)).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(new RegExp(`^STALE {2}last update \\S+ ago \\(pid ${pid} gone\\)`)),
    });
  });

  test("all log entries of normal operation are JSON lines with short constant messages and fields", async () => {
    await until("the other board leads", () => follower.leads, 30);
    await follower.stop();
    const lines = [leader, follower].flatMap((agent) =>
      agent
        .log()
        .split("\n")
        .filter((line) => line !== ""),
    );
    const said = new Set<string>();
    for (const line of lines) {
      const entry = JSON.parse(line) as { message: string; level: string; priority: number; time: string };
      expect(entry).toMatchObject({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        level: expect.stringMatching(/^(error|warn|info)$/),
        priority: { error: 3, warn: 4, info: 6 }[entry.level],
        message: expect.stringMatching(/^[A-Za-z][A-Za-z' ,;:.]{4,70}$/),
        board: expect.stringMatching(/^pi-\d$/),
      });
      said.add(`${entry.level}: ${entry.message}`);
    }
    expect([...said]).toEqual(
      expect.arrayContaining([
        "info: API server reached",
        "info: lease holder changed",
        "info: term began",
        "info: controller started",
        "warn: API server not reached",
        "info: term ended",
        "info: lease released",
        "info: stopped",
      ]),
    );
    expect([...said].filter((one) => one.startsWith("error"))).toEqual([]);
    expect(said.size, [...said].join("\n")).toBeLessThan(16);
  });
});
