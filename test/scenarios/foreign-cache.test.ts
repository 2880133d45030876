import { copyFileSync, existsSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { touch } from "../support/load.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", evictionRate: 10 },
  judgement: { policy: "kubernetes" },
  controllers: boardsOnly,
};

/** Replaces a board's cache with another board's, like a person who copies files between cards. */
function replaceCache(of: AgentProcess, by: AgentProcess): void {
  for (const ending of ["", "-wal", "-shm"]) {
    const [from, to] = [by, of].map(({ dir }) => path.join(dir, "state", `cache.db${ending}`)) as [string, string];
    rmSync(to, { force: true });
    if (existsSync(from)) copyFileSync(from, to);
  }
}

const rebuilt = (agent: AgentProcess): string | undefined =>
  agent.status()?.health.conditions.find(({ type }) => type === "CacheRebuilt")?.message;

test("the cache of another cluster's board is discarded, even if its position would fit", {
  timeout: 90_000,
}, async () => {
  const [here, elsewhere] = await Promise.all([new LinkedSite({ config }).start(), new LinkedSite({ config }).start()]);
  try {
    // A pod that only the other cluster has, and a longer history here, so that the position also exists here.
    await elsewhere.tolerate(0, 300);
    await until("both lead", () => here.agent.isReady && elsewhere.agent.isReady, 30);
    for (let round = 0; round < 80; round++) await touch(here, round % 5, `earlier ${round}`);
    await Promise.all([here.agent.stop(), elsewhere.agent.stop()]);
    replaceCache(here.agent, elsewhere.agent);

    here.agent.start();
    await until("it leads again", () => here.agent.isReady, 30);
    expect(rebuilt(here.agent)).toMatch(/cache\.db was recreated .* ago: .*the cache belongs to another state\.db/);
    expect(await here.differences()).toEqual([]);
    expect(here.harm).toEqual([]);
  } finally {
    await Promise.all([here.stop(), elsewhere.stop()]);
  }
});

test("the cache of another board of the same site is discarded too, and a board's own is kept over a restart", {
  timeout: 90_000,
}, async () => {
  const site = await new LinkedSite({ config }).start();
  try {
    await until("the board leads", () => site.agent.isReady, 30);
    const other = site.join("pi-2");
    await until("the other one follows", () => other.status()?.leader?.role === "standby", 20);
    await other.stop();
    await site.agent.stop();
    other.start();
    await until("the other one leads", () => other.isReady, 30);
    await other.stop();
    replaceCache(site.agent, other);

    site.agent.start();
    await until("the board leads again", () => site.agent.isReady, 30);
    expect(rebuilt(site.agent)).toMatch(/the cache belongs to another state\.db/);
    const listed = site.lists("pods");
    await site.agent.stop();
    site.agent.start();
    await until("the board leads once more", () => site.agent.isReady, 30);
    expect([rebuilt(site.agent), site.lists("pods")]).toEqual([undefined, listed]);
    expect(await site.differences()).toEqual([]);
    expect(site.harm).toEqual([]);
  } finally {
    await site.stop();
  }
});
