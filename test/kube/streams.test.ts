import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { rest } from "../support/rest.ts";

const boards = Array.from({ length: 24 }, (_, i) => i);
const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "5s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
  site: { name: "south", nodeSelector: "area=south" },
};

describe.skipIf(missingAssets())("a site with more watches than the server permits on a connection", () => {
  const site = new KubeSite({ "http2-max-streams-per-connection": "12" });
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: boards.length, pods: 0, seed: 1 });
    const patch = { metadata: { labels: { area: "south" } } };
    for (const board of boards) {
      await site.cluster.request("PATCH", `/api/v1/nodes/${boardName(board)}`, patch, "application/merge-patch+json");
    }
    site.beat(...boards);
    agent = site.agent("pi-south", config);
  });
  afterAll(() => site.stop());

  test("is ready, and its leader keeps its Lease", async () => {
    await until(
      "the agent is ready",
      () => agent.isReady,
      30,
      () => agent.log().slice(-800),
    );
    const { leaseTransitions } = (await site.lease("siteward-south")).spec;
    await rest(8);
    expect((await site.lease("siteward-south")).spec.leaseTransitions).toBe(leaseTransitions);
    expect([agent.isReady, agent.leads]).toEqual([true, true]);
    expect(agent.log()).not.toMatch(/term ended|no response within/);
  });

  test("notices a board that falls silent", async () => {
    site.silence(20);
    await until("NoExecute", async () => (await site.taints(20)).includes("unreachable:NoExecute"), 20);
  });
});
