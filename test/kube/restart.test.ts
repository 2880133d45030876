import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill, touch } from "../support/load.ts";

describe.skipIf(missingAssets())("an agent restarts on a real kube-apiserver", () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 500, seed: 1 });
    site.beat(0, 1, 2);
    site.agent("pi-1");
    await until("the agent leads", () => site.leader !== undefined, 30);
  });
  afterAll(() => site.stop());

  test.for(["SIGTERM", "SIGKILL"] as const)(
    "after %s it resumes its watches without listing pods or nodes",
    async (signal) => {
      const [agent] = site.agents;
      if (!agent) throw new Error("no agent");
      const listed = (resource: string): number =>
        site.requestsOf(agent).filter(({ verb, objectRef }) => verb === "list" && objectRef?.resource === resource)
          .length;
      await until("the first list is stored", () => listed("pods") > 0 && agent.isReady, 20);
      const before = { pods: listed("pods"), nodes: listed("nodes") };
      await agent.stop(signal);
      await touch(site.cluster, 7, `while it was stopped, after ${signal}`);
      agent.start();
      await until("it leads again", () => agent.leads, 30);
      await new Promise((resolve) => setTimeout(resolve, 2000));
      expect({ pods: listed("pods"), nodes: listed("nodes") }).toEqual(before);
      expect(site.statusOf(agent).health.level).not.toBe("critical");
    },
  );
});
