import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { type Audited, missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill, touch } from "../support/load.ts";
import { differences } from "../support/mirrored.ts";
import { rest } from "../support/rest.ts";

describe.skipIf(missingAssets())("a real API server", () => {
  const site = new KubeSite();
  const config = {
    leader: { duration: "9s", renewDeadline: "6s", retry: "1s" },
    link: { blip: "2s" },
    nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", evictionRate: 10 },
    judgement: { policy: "kubernetes" },
  };

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 6, seed: 1 });
    site.beat(0, 1, 2);
    site.agent("pi-1", config);
    await until("the agent leads", () => site.leader?.isReady === true, 30);
  });
  afterAll(() => site.stop());

  const listsOf = (agent: AgentProcess, plural: string): number =>
    site
      .requestsOf(agent)
      .filter(
        ({ verb, objectRef, requestURI, responseStatus }) =>
          verb === "list" &&
          responseStatus?.code === 200 &&
          objectRef?.resource === plural &&
          !/limit=1(&|$)/.test(requestURI),
      ).length;

  const harm = (agent: AgentProcess): readonly Audited[] =>
    site
      .writesOf(agent)
      .filter(({ verb, objectRef }) => objectRef?.resource === "pods" && (verb === "delete" || verb === "patch"));

  test("that lost its etcd does not cause a verdict on any board, although all connections stay open", async () => {
    const [agent] = site.agents;
    if (!agent) throw new Error("no agent");
    site.cluster.suspendEtcd();
    await until("the agent reports a problem", () => agent.status()?.health.level !== "ok", 90);
    await rest(25);
    site.cluster.resumeEtcd();
    await until("it leads again and its caches are current", () => agent.isReady, 60);
    await rest(5);
    for (const board of [0, 1, 2]) expect(await site.taints(board)).toEqual([]);
    expect(harm(agent)).toEqual([]);
  });

  test("that has lost its watch history is listed once, and the agent's cache then equals the server's objects", async () => {
    const [agent] = site.agents;
    if (!agent) throw new Error("no agent");
    const before = listsOf(agent, "pods");
    await agent.stop("SIGKILL");
    for (let round = 0; round < 5; round++) await touch(site.cluster, round, "while the agent was stopped");
    await site.cluster.request("DELETE", "/api/v1/namespaces/default/pods/app-000005?gracePeriodSeconds=0");
    await site.cluster.compact();
    await site.cluster.killApi();
    await site.cluster.startApi();
    agent.start();
    await until("it leads and its caches are current", () => agent.isReady, 60);
    await rest(3);
    expect(listsOf(agent, "pods")).toBe(before + 1);
    site.silence(0, 1, 2);
    await rest(2);
    await agent.stop();
    expect(await differences(site.cluster, path.join(agent.dir, "state/cache.db"))).toEqual([]);
    expect(harm(agent)).toEqual([]);
  });
});
