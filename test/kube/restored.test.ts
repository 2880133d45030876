import path from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill, touch } from "../support/load.ts";
import { differences } from "../support/mirrored.ts";
import { rest } from "../support/rest.ts";
import { siteward } from "../support/siteward-command.ts";

const pods = "/api/v1/namespaces/default/pods";
const sets = "/apis/apps/v1/namespaces/default/daemonsets";
const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";
const merge = "application/merge-patch+json";

describe.skipIf(missingAssets())("an etcd that is restored from a backup", () => {
  const site = new KubeSite();
  const { cluster } = site;
  const config = {
    leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
    link: { blip: "2s" },
    nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "20s" },
  };

  const agent = (): AgentProcess => {
    const [only] = site.agents;
    if (!only) throw new Error("no agent");
    return only;
  };

  beforeAll(async () => {
    await site.start();
    await fill(cluster, { nodes: 3, pods: 6, seed: 1 });
    await cluster.request("POST", sets, daemonSet("ds"));
    site.beat(0, 1, 2);
    site.agent("pi-1", config);
    await until("the daemon pods are created", async () => (await daemonPods("ds")) === 3, 60);
    await cluster.backUp("first");
    await until("the agent leads again", () => agent().isReady, 60);
  });
  afterAll(() => site.stop());

  const namesOf = async (url: string): Promise<readonly string[]> => {
    const { items } = await cluster.request<{ items: readonly { metadata: { name: string } }[] }>("GET", url);
    return items.map(({ metadata }) => metadata.name);
  };
  const daemonPods = async (set: string): Promise<number> =>
    (await namesOf(pods)).filter((name) => name.startsWith(`${set}-`)).length;
  const isSaid = (): boolean =>
    agent()
      .status()
      ?.health.conditions.some(({ type }) => type === "ServerRestored") === true;

  const examined = async (): Promise<unknown> => {
    const file = path.join(agent().dir, "siteward.yaml");
    const { stdout } = await siteward(["doctor", "--json", "--only", "cache.current", "--config", file]);
    const { findings } = JSON.parse(stdout) as { findings: readonly unknown[] };
    return findings[0];
  };

  /** Checks objects that the restored store lacks, and objects that it has again. */
  const diverge = async (): Promise<void> => {
    await cluster.request("DELETE", `${pods}/app-000005?gracePeriodSeconds=0`);
    await cluster.request("DELETE", `${sets}/ds`);
    await cluster.request("POST", sets, daemonSet("ds2"));
    await until("the agent acts on new objects", async () => (await daemonPods("ds2")) === 3, 30);
  };

  /** Writes until the store's revision is higher than it was before. */
  const pass = async (revision: number): Promise<void> => {
    for (let round = 0; (await cluster.revision()) <= revision; round++) await touch(cluster, round % 5, `${round}`);
  };

  const mirrorsTheServer = async (): Promise<void> => {
    site.silence(0, 1, 2);
    await rest(3);
    await agent().stop();
    expect(await differences(cluster, path.join(agent().dir, "state/cache.db"))).toEqual([]);
    site.beat(0, 1, 2);
  };

  test("is noticed by a running agent within one renewal, and restored objects are managed again", async () => {
    await diverge();
    const before = await cluster.revision();
    await cluster.restore("first");
    await pass(before);
    await until("it is reported", isSaid, 30, () => agent().log().slice(-2000));
    await until("the agent leads again", () => agent().isReady, 60);
    for (const name of (await namesOf(pods)).filter((one) => one.startsWith("ds-"))) {
      await cluster.request("DELETE", `${pods}/${name}?gracePeriodSeconds=0`);
    }
    await until("the restored set has its pods", async () => (await daemonPods("ds")) === 3, 30);
    expect(await daemonPods("ds2")).toBe(0);
    expect(await examined()).toMatchObject({ level: "ok" });
    // As after a restore that went unnoticed.
    const cache = new Sqlite(path.join(agent().dir, "state/cache.db"), { timeout: 1000 });
    cache.prepare("DELETE FROM objects WHERE key = 'default/app-000001'").run();
    cache.close();
    expect(await examined()).toMatchObject({
      level: "fail",
      message: "the cache differs from the API server: pods default/app-000001 is not in the cache",
    });
    await touch(cluster, 1, "another change");
    await mirrorsTheServer();
  });

  test("is noticed by an agent that was off, regardless of how far the store has advanced since", async () => {
    agent().start();
    await until("the agent leads", () => agent().isReady, 60);
    await diverge();
    await agent().stop();
    const before = await cluster.revision();
    await cluster.restore("first");
    await pass(before + 50);
    // As if another board had led in between.
    await cluster.request(
      "PATCH",
      lease,
      { spec: { renewTime: new Date().toISOString().replace("Z", "001Z") } },
      merge,
    );
    agent().start();
    await until("it is reported", isSaid, 30, () => agent().log().slice(-2000));
    await until("the agent leads again", () => agent().isReady, 60);
    expect(await daemonPods("ds2")).toBe(0);
    await mirrorsTheServer();
  });

  test("causes a list by an agent that was off for longer than the store's history reaches", async () => {
    agent().start();
    await until("the agent leads", () => agent().isReady, 60);
    await diverge();
    await agent().stop("SIGKILL");
    const before = await cluster.revision();
    await cluster.restore("first");
    await pass(before + 50);
    await cluster.request(
      "PATCH",
      lease,
      { spec: { renewTime: new Date().toISOString().replace("Z", "001Z") } },
      merge,
    );
    await cluster.compact();
    agent().start();
    await until("the agent leads again", () => agent().isReady, 60);
    await rest(3);
    expect(await daemonPods("ds2")).toBe(0);
    await mirrorsTheServer();
  });

  test("does not cause an eviction for a taint that an API server still shows because it was not restarted", async () => {
    agent().start();
    const tolerations = [{ key: "repair", operator: "Exists", effect: "NoExecute", tolerationSeconds: 20 }];
    const spec = { nodeName: boardName(0), tolerations, containers: [{ name: "main", image: "example/app:1" }] };
    await cluster.request("POST", pods, { metadata: { name: "patient" }, spec });
    await cluster.backUp("second");
    await until("the agent leads", () => agent().isReady, 60);
    const taints = [{ key: "repair", effect: "NoExecute" }];
    await cluster.request("PATCH", `/api/v1/nodes/${boardName(0)}`, { spec: { taints } }, merge);
    for (let round = 0; round < 100; round++) await touch(cluster, 2, `${round}`);
    await cluster.restoreStoreAlone("second");
    await until("it is reported", isSaid, 30, () => agent().log().slice(-2000));
    await until("the agent leads again", () => agent().isReady, 60);
    // The agent fills a new cache at first.
    await expect.poll(examined, { timeout: 40_000, interval: 2000 }).toMatchObject({
      level: "fail",
      message: expect.stringContaining("the API server lists objects that are not in its store"),
    });
    await rest(30);
    const { metadata } = await cluster.request<{ metadata: object }>("GET", `${pods}/patient`);
    expect(metadata).not.toHaveProperty("deletionTimestamp");
    expect(agent().leads).toBe(true);
  });
});

const daemonSet = (name: string): object => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name },
  spec: {
    selector: { matchLabels: { set: name } },
    template: {
      metadata: { labels: { set: name } },
      spec: { containers: [{ name: "main", image: "example/app:1" }] },
    },
  },
});
