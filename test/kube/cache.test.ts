import { readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { KubeCluster, missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill, touch } from "../support/load.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";

const leader = { duration: "6s", renewDeadline: "4s", retry: "1s" };

const conditionOf = (agent: AgentProcess, type: string): string | undefined =>
  agent.status()?.health.conditions.find((one) => one.type === type)?.message;

describe.skipIf(missingAssets())("the cache of an agent", () => {
  const site = new KubeSite();
  const other = new KubeCluster();
  let agent: AgentProcess;
  const kubeconfig = () => path.join(site.cluster.dir, "kubeconfig-of-the-agent");

  beforeAll(async () => {
    await Promise.all([site.start(), other.start()]);
    await fill(site.cluster, { nodes: 2, pods: 300, seed: 1 });
    await fill(other, { nodes: 1, pods: 3, seed: 2 });
    site.beat(0, 1);
    writeFileSync(kubeconfig(), readFileSync(site.cluster.kubeconfig));
    // A small cache in memory, so that the file is read all the time.
    agent = site.agent("pi-1", { leader, cache: { decodedBytes: "64KiB", sqlite: { cacheKiB: 64 } } }, kubeconfig());
    await until(
      "it is ready",
      () => agent.isReady,
      20,
      () => agent.log().slice(-800),
    );
  });
  afterAll(async () => {
    await site.stop();
    await other.stop();
  });

  const podsSeen = (): number | undefined =>
    agent.status()?.watches?.find(({ resource }) => resource === "pods")?.objects;

  test("a first start and a restart do not count as a rebuild", async () => {
    expect(conditionOf(agent, "CacheRebuilt")).toBeUndefined();
    await agent.stop();
    agent.start();
    await until("it is ready", () => agent.isReady, 20);
    expect(conditionOf(agent, "CacheRebuilt")).toBeUndefined();
  });

  test("a cache damaged under a running agent is rebuilt and filled again, without a restart of the agent", async () => {
    const { pid } = agent;
    for (const name of ["cache.db", "cache.db-wal"]) {
      const file = path.join(agent.dir, "state", name);
      const { size } = statSync(file);
      writeFileSync(
        file,
        Buffer.concat([readFileSync(file).subarray(0, 32), Buffer.alloc(Math.max(0, size - 32), 0xa5)]),
      );
    }
    const timer = setInterval(() => touch(site.cluster, 7, String(performance.now())).catch(() => undefined), 200);
    await until(
      "the rebuild is reported",
      () => conditionOf(agent, "CacheRebuilt") !== undefined,
      20,
      () => agent.log().slice(-800),
    );
    clearInterval(timer);
    // What a query meets first varies: a page that SQLite refuses, or a row whose JSON ends early.
    expect(conditionOf(agent, "CacheRebuilt")).toMatch(
      /^cache\.db was recreated .* ago: .*cache\.db: the file is damaged \((database disk image is malformed|.* JSON .*)\)$/,
    );
    await until("it is ready", () => agent.isReady && podsSeen() === 300, 20);
    expect(agent.pid).toBe(pid);
    expect(agent.running).toBe(true);
  });

  test.skipIf(!canMount())(
    "an agent whose cache has no room releases the Lease, keeps running, and reports why",
    async () => {
      await agent.stop();
      const folder = mount(site.cluster.dir, "size=4m");
      const full = site.agent("pi-full", { leader, state: { folder } }, kubeconfig());
      try {
        await until(
          "it is ready",
          () => full.isReady,
          20,
          () => full.log().slice(-800),
        );
        const { bavail, bsize } = statfsSync(folder);
        writeFileSync(path.join(folder, "filler"), Buffer.alloc(Math.max(0, bavail * bsize - 16_384)));
        const timer = setInterval(() => {
          for (let i = 0; i < 20; i++) touch(site.cluster, i, String(performance.now())).catch(() => undefined);
        }, 200);
        await until(
          "it has stopped leading and reports why",
          () => /the disk is full|less than 1 MiB/.test(JSON.stringify(full.status()?.health)) && !full.leads,
          30,
          () => full.log().slice(-800),
        );
        clearInterval(timer);
        expect(full.running).toBe(true);
        await until("the Lease is released", async () => (await site.lease()).spec.holderIdentity === "", 10);
      } finally {
        await full.stop("SIGKILL");
        unmount(folder);
      }
      agent.start();
      await until("it is ready", () => agent.isReady, 20);
    },
  );

  test("a cache filled from another cluster is discarded, and nothing in it is used", async () => {
    await agent.stop();
    writeFileSync(kubeconfig(), readFileSync(other.kubeconfig));
    agent.start();
    await until(
      "it is ready there",
      () => agent.isReady && podsSeen() === 3,
      30,
      () => agent.log().slice(-800),
    );
    expect(conditionOf(agent, "CacheRebuilt")).toMatch(/the cache was filled from another cluster$/);
    const asked = other.audit().filter(({ userAgent }) => userAgent?.includes("(pi-1)"));
    const of = (resource: string, verb: string) =>
      asked.filter(({ objectRef, verb: does }) => objectRef?.resource === resource && does === verb);
    // No watch was opened at a position of the former cluster.
    expect(of("pods", "list").length).toBe(1);
    const firstList = of("pods", "list")[0]?.requestReceivedTimestamp ?? "";
    expect(of("pods", "watch").filter(({ requestReceivedTimestamp }) => requestReceivedTimestamp < firstList)).toEqual(
      [],
    );
    // To identify the cluster takes one small request.
    expect(of("namespaces", "get").map(({ objectRef }) => objectRef?.name)).toContain("kube-system");
  });
});
