import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Relay } from "../agent/client/loopback-server.ts";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { FaultyLink } from "../support/links/faulty-link.ts";
import { fill, report } from "../support/load.ts";

const config = {
  leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
  link: { blip: "2s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", startupGracePeriod: "8s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
};

const portOf = (url: string): number => Number(new URL(url).port);

describe.skipIf(missingAssets())("two API servers behind a balancer", () => {
  const site = new KubeSite();
  let wayToStore: FaultyLink;
  let balancer: Relay;
  /** The port that the balancer gives new connections to. */
  let chosen: number;
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    const { cluster } = site;
    await fill(cluster, { nodes: 3, pods: 3, seed: 1 });
    site.beat(0, 1, 2);
    wayToStore = new FaultyLink(portOf(cluster.etcd), 1);
    chosen = await cluster.startSecondApi(await wayToStore.listen());
    balancer = await Relay.start(() => chosen);
    const kubeconfig = path.join(cluster.dir, "balanced.kubeconfig");
    const authority = readFileSync(path.join(cluster.dir, "certs/apiserver.crt"), "utf8");
    cluster.writeKubeconfig(kubeconfig, `https://127.0.0.1:${balancer.port}`, authority);
    agent = site.agent("pi-1", config, kubeconfig);
    await until("the agent leads", () => agent.isReady, 60);
    for (const board of [0, 1, 2]) await report(cluster, board);
  }, 150_000);
  afterAll(async () => {
    wayToStore?.set({});
    await site.stop();
    await balancer?.stop();
    await wayToStore?.close();
  });

  test("one loses its etcd but keeps its connections: the agent leaves it, and notices a silent board", async () => {
    wayToStore.set({ silent: true });
    chosen = portOf(site.cluster.server);
    site.silence(2);
    await until("NoExecute", async () => (await site.taints(2)).includes("unreachable:NoExecute"), 60);
    expect(agent.leads).toBe(true);
    for (const board of [0, 1]) expect(await site.taints(board)).toEqual([]);
  });
});
