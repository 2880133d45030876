import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { FaultyLink } from "../support/links/faulty-link.ts";
import { boardName, fill, report } from "../support/load.ts";
import { order } from "../support/order.ts";

const config = {
  leader: { duration: "24s", renewDeadline: "16s", retry: "2s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "8s", startupGracePeriod: "8s" },
  link: { blip: "2s" },
  controllers: boardsOnly,
};

function siteOfFour(): KubeSite {
  const site = new KubeSite();
  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 4, pods: 12, seed: 1 });
  });
  afterAll(() => site.stop());
  return site;
}

/** Starts the agent of board 0, which leads, and waits until board 3 is lost. */
async function loseBoard(site: KubeSite, kubeconfig?: string): Promise<AgentProcess> {
  site.beat(0, 1, 2, 3);
  const leader = site.agent(boardName(0), config, kubeconfig);
  await until("it leads", () => leader.isReady && leader.leads, 30);
  await Promise.all([0, 1, 2, 3].map((i) => report(site.cluster, i)));
  site.silence(3);
  await until("the board is lost", async () => (await site.taints(3)).includes("unreachable:NoExecute"), 60);
  return leader;
}

describe.skipIf(missingAssets())("a board that is confirmed dead as the leader's link breaks", () => {
  const site = siteOfFour();
  const { cluster } = site;

  test("keeps its pods if it comes back before the link", async () => {
    const link = new FaultyLink(Number(new URL(cluster.server).port), 1);
    const kubeconfig = path.join(cluster.dir, "link.kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(`https://127.0.0.1:${await link.listen()}`), { mode: 0o600 });
    const leader = await loseBoard(site, kubeconfig);
    const pods = await site.podNames();
    link.set({ delay: 400 });
    void order(leader, "board.confirm-dead", { board: boardName(3) });
    await until("it is out of service", async () => (await site.taints(3)).includes("out-of-service:NoExecute"), 30);
    link.set({ refused: true });
    link.reset();
    site.beat(3);
    await report(cluster, 3);
    await new Promise((resolve) => setTimeout(resolve, 8000));
    link.set({});
    await until("it is back in service", async () => (await site.taints(3)).length === 0, 60);
    expect(await site.podNames()).toEqual(pods);
  });
});

describe.skipIf(missingAssets())(
  "a board that was confirmed dead, is repaired, and is cut off after a restore of etcd",
  () => {
    const site = siteOfFour();
    const { cluster } = site;

    test("keeps its pods: the restore brings back the confirmation, and undoes the board's return", {
      timeout: 300_000,
    }, async () => {
      const leader = await loseBoard(site);
      const pods = await site.podNames();
      // So that its pods are still there when the backup is made.
      for (const controller of ["taint-eviction", "pod-gc"])
        await order(leader, "controllers.pause", { controller, ttl: 60 });
      const confirmed = await order(leader, "board.confirm-dead", { board: boardName(3) });
      expect(confirmed).toMatchObject({ state: "succeeded", result: { paused: ["pod-gc", "taint-eviction"] } });
      await cluster.backUp("confirmed");
      site.beat(3);
      await report(cluster, 3);
      await until("it is back in service", async () => (await site.taints(3)).length === 0, 60);
      site.silence(3);
      await cluster.restore("confirmed");
      expect(await site.taints(3)).toContain("out-of-service:NoExecute");
      const isOut = async (): Promise<boolean> => (await site.taints(3)).includes("out-of-service:NoExecute");
      await until(
        "the confirmation is withdrawn",
        async () => !(await isOut()),
        90,
        () => leader.log().slice(-2000),
      );
      // The pauses have ended, and a grace period has passed.
      await new Promise((resolve) => setTimeout(resolve, 65_000));
      expect(await site.podNames()).toEqual(pods);
      const again = await order(leader, "board.confirm-dead", { board: boardName(3) });
      expect(again).toMatchObject({ state: "succeeded", result: { changed: true } });
      await until("its pods are gone", async () => (await site.podNames()).length < pods.length, 60);
    });
  },
);
