import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "30s", startupGracePeriod: "30s" },
  daemonSet: { bind: true },
};

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const merge = "application/merge-patch+json";

class Story extends KubeSite {
  async count(what: string, namespace: string): Promise<number> {
    const root = what === "endpointslices" ? "/apis/discovery.k8s.io/v1" : "/api/v1";
    const { items } = await this.cluster.request<List>("GET", `${root}/namespaces/${namespace}/${what}`);
    return items.length;
  }

  async furnish(namespace: string, labels: object): Promise<void> {
    await this.cluster.request("POST", "/api/v1/namespaces", { metadata: { name: namespace, labels } });
    await this.cluster.request("POST", `/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: "logs" },
      spec: { selector: { app: "logs" }, ports: [{ port: 80 }] },
    });
    const template = { metadata: { labels: { app: "logs" } }, spec: { containers: [{ name: "main", image: "logs" }] } };
    await this.cluster.request("POST", `/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
      metadata: { name: "logs" },
      spec: { selector: { matchLabels: { app: "logs" } }, template },
    });
  }
}

describe.skipIf(missingAssets())("a site with selectors for boards and namespaces", () => {
  const site = new Story();
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 2, pods: 2, seed: 1 });
    site.beat(0, 1);
    await site.furnish("ours", { area: "north" });
    await site.furnish("theirs", { area: "south" });
  });
  afterAll(() => site.stop());

  const tail = (): string => agent.log().slice(-1500);

  test("without a namespaceSelector it manages boards only, and reports that", async () => {
    agent = site.agent("pi-1", { ...config, site: { name: "north", nodeSelector: "kubernetes.io/os=linux" } });
    await until("it is ready", () => agent.isReady, 20, tail);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(agent.status()?.health.conditions.map(({ type }) => type)).toContain("WorkloadsNotRun");
    expect([await site.count("endpointslices", "ours"), await site.count("pods", "ours")]).toEqual([0, 0]);
    await agent.stop();
  });

  test("with one it manages the workloads of its namespaces and no others", async () => {
    const ours = { name: "north", nodeSelector: "kubernetes.io/os=linux", namespaceSelector: "area=north" };
    agent = site.agent("pi-2", { ...config, site: ours });
    await until("daemon pods", async () => (await site.count("pods", "ours")) === 2, 30, tail);
    await until("a slice", async () => (await site.count("endpointslices", "ours")) === 1, 15, tail);
    expect(await site.count("endpoints", "ours")).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(await site.count("pods", "ours")).toBe(2);
    const touched = site.writesOf(agent).map(({ objectRef }) => objectRef?.namespace);
    expect(touched).not.toContain("theirs");
  });

  test("a namespace that joins is managed immediately", async () => {
    await site.cluster.request(
      "PATCH",
      "/api/v1/namespaces/theirs",
      { metadata: { labels: { area: "north" } } },
      merge,
    );
    await until("daemon pods", async () => (await site.count("pods", "theirs")) === 2, 15, tail);
    await until("a slice", async () => (await site.count("endpointslices", "theirs")) === 1, 15, tail);
  });

  test("a namespace that leaves is no longer touched", async () => {
    await site.cluster.request("PATCH", "/api/v1/namespaces/theirs", { metadata: { labels: { area: null } } }, merge);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const before = site.writesOf(agent).filter(({ objectRef }) => objectRef?.namespace === "theirs").length;
    const url = "/api/v1/namespaces/theirs/pods";
    const { items } = await site.cluster.request<List>("GET", url);
    for (const { metadata } of items)
      await site.cluster.request("DELETE", `${url}/${metadata.name}?gracePeriodSeconds=0`);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await site.count("pods", "theirs")).toBe(0);
    expect(site.writesOf(agent).filter(({ objectRef }) => objectRef?.namespace === "theirs")).toHaveLength(before);
  });
});
