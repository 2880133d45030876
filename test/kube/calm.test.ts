import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";
import { rest } from "../support/rest.ts";

/** Just longer than the minute after which a server sends its first bookmark, if it has one to send. */
const watchStall = "66s";

describe.skipIf(missingAssets())("a site on which nothing changes but heartbeats", () => {
  const site = new KubeSite();
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 6, seed: 1 });
    site.beat(0, 1, 2);
    agent = site.agent("pi-1", { link: { watchStall } });
    await until("the agent leads", () => site.leader?.isReady === true, 60);
  });
  afterAll(() => site.stop());

  test("keeps its watches open, because the server's silence about an unchanged resource is not a stall", async () => {
    await rest(80);
    const opened = new Map<string, Set<string>>();
    for (const { verb, objectRef, requestReceivedTimestamp } of site.requestsOf(agent)) {
      if (verb !== "watch") continue;
      const resource = objectRef?.resource ?? "";
      opened.set(resource, (opened.get(resource) ?? new Set()).add(requestReceivedTimestamp));
    }
    expect(opened.size).toBeGreaterThan(5);
    expect([...opened].filter(([, times]) => times.size > 1).map(([resource]) => resource)).toEqual([]);
    expect(agent.log()).not.toMatch(/watch interrupted/);
    expect(site.statusOf(agent).watches?.map(({ state }) => state)).not.toContain("silent");
  });
});
