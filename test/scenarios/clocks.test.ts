import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";
import { missingCompiler, WallClock } from "../support/wall-clock.ts";

const year = 365 * 86_400;
const hour = 3600;
const sinceEpoch = Date.now() / 1000;
const grace = 6;
const config = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
  link: { blip: "2s", watchStall: "20s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: `${grace}s`, evictionRate: 10 },
  judgement: { policy: "kubernetes" },
  controllers: boardsOnly,
};

/** The leader's last renewal time: no agent reads it as a time, but it shows the leader's clock. */
async function renewed(site: LinkedSite): Promise<Date> {
  const lease = await site.request<{ spec: { renewTime: string } }>(
    "GET",
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default",
  );
  return new Date(lease.spec.renewTime);
}

const missing = missingCompiler();
if (missing) console.warn(`skipped: the stories with wrong clocks, because ${missing}`);

describe.skipIf(missing)("a clock that is wrong", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-clock-"));
  afterAll(() => rmSync(dir, { recursive: true }));

  test.concurrent("and steps by years does not change any term, verdict or timer", { timeout: 120_000 }, async () => {
    const wall = new WallClock(dir, "pi-1");
    wall.set(-sinceEpoch);
    const site = await new LinkedSite({ config, through: wall.through }).start();
    try {
      await until(
        "the agent that booted in 1970 leads",
        () => site.agent.isReady,
        40,
        () => site.agent.log(),
      );
      expect((await renewed(site)).getUTCFullYear()).toBe(1970);
      const term = site.agent.status()?.leader?.term;
      for (const step of [0, 10 * year, -10 * year, hour, -hour]) {
        wall.set(step);
        await rest(3);
        expect(site.agent.leads).toBe(true);
      }

      await site.tolerate(0, 10);
      site.silence(0);
      const silent = performance.now();
      await rest(1);
      wall.set(10 * year);
      await until(
        "the lost board is tainted",
        async () => (await site.taints(0)).includes("unreachable:NoExecute"),
        30,
      );
      const tainted = performance.now();
      expect((tainted - silent) / 1000).toBeGreaterThan(grace - 1.5);
      expect((await renewed(site)).getUTCFullYear()).toBe(new Date().getUTCFullYear() + 10);
      wall.set(-10 * year);
      await until("its pod is evicted", async () => !(await site.hasPod("patient")), 30);
      expect((performance.now() - tainted) / 1000).toBeGreaterThan(8.5);
      expect((performance.now() - tainted) / 1000).toBeLessThan(13);
      for (const board of [1, 2]) expect(await site.taints(board)).toEqual([]);
      expect(site.agent.status()?.leader?.term).toBe(term);
    } finally {
      await site.stop();
    }
  });

  test.concurrent("by an hour on two boards does not delay a change of the leader", { timeout: 120_000 }, async () => {
    const [ahead, behind] = [new WallClock(dir, "ahead"), new WallClock(dir, "behind")];
    ahead.set(hour);
    behind.set(-hour);
    const site = await new LinkedSite({ config, through: ahead.through }).start();
    try {
      await until("the agent whose clock is ahead leads", () => site.agent.isReady, 40);
      const other = site.join("pi-2", behind.through);
      await until("the other one follows", () => other.status()?.leader?.role === "standby", 20);
      const term = site.agent.status()?.leader?.term ?? 0;
      // Longer than the term: neither board reads the other's timestamps as the time.
      await rest(12);
      expect(site.agent.leads).toBe(true);
      expect(other.leads).toBe(false);

      await site.agent.stop("SIGKILL");
      const taken = await until("the one whose clock is behind takes over", () => other.leads, 2 * 9 + 1 + 3);
      expect(taken).toBeGreaterThan(2);
      expect(other.status()?.leader?.term).toBe(term + 1);
      await rest(grace + 2);
      expect(site.harm).toEqual([]);
    } finally {
      await site.stop();
    }
  });
});
