import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority } from "../../agent/client/certificates.ts";
import { type AgentProcess, until } from "../../support/agent-process.ts";
import { boardsOnly } from "../../support/boards-only.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { KubeSite } from "../../support/kube/kube-site.ts";
import { SlowWatchFront } from "../../support/kube/slow-watch-front.ts";
import { boardName, fill } from "../../support/load.ts";

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s" },
  link: { blip: "3s" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "14s", startupGracePeriod: "14s", evictionRate: 5 },
  controllers: boardsOnly,
};

/** Their heartbeats come once a second. One event per second of all of them is a heartbeat of each in 24 s. */
const boards = Array.from({ length: 24 }, (_, i) => i);

describe.skipIf(missingAssets())("a leader whose watch of Leases is ever later, though nothing pauses", () => {
  const site = new KubeSite();
  const { cluster } = site;
  const authority = new Authority();
  let front: SlowWatchFront;
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fill(cluster, { nodes: boards.length, pods: boards.length, seed: 1 });
    site.beat(...boards);
    front = new SlowWatchFront(cluster.server, authority.issue("front"));
    const through = path.join(cluster.dir, "through-front");
    writeFileSync(through, cluster.kubeconfigFor(await front.listen(), undefined, authority.ca), { mode: 0o600 });
    agent = site.agent(boardName(0), config, through);
    await until("it leads", () => agent.isReady, 60);
    await new Promise((resolve) => setTimeout(resolve, 16_000));
  });
  afterAll(async () => {
    await front.close();
    authority.remove();
    await site.stop();
  });

  const silenced = async (): Promise<readonly string[]> => {
    const judged = await Promise.all(boards.map(async (i) => [boardName(i), await site.ready(i)] as const));
    return judged.flatMap(([name, ready]) => (ready === "True" ? [] : [name]));
  };

  test("takes no board for silent", async () => {
    front.pace = 1000;
    const end = performance.now() + 45_000;
    while (performance.now() < end) {
      expect(await silenced()).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    expect(front.waiting).toBeGreaterThan(400);
  });

  test("finds a dead one by reading its Lease", async () => {
    site.silence(7);
    await until("it is tainted", async () => (await site.taints(7)).includes("unreachable:NoExecute"), 90);
    expect(await silenced()).toEqual([boardName(7)]);
  });
});
