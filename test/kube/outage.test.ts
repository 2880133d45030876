import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";

const boards = [0, 1, 2, 3];
const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  link: { blip: "2s", watchStall: "10s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "5s", evictionRate: 10 },
  judgement: { policy: "kubernetes" },
  controllers: boardsOnly,
};

describe.skipIf(missingAssets())("the API server is down for longer than the grace period", () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: boards.length, pods: 8, seed: 1 });
    site.beat(...boards);
    site.agent("pi-1", config);
    await until("the agent leads", () => site.leader !== undefined, 20);
    await new Promise((resolve) => setTimeout(resolve, 3000));
  });
  afterAll(() => site.stop());

  test("when it is back, living boards are neither tainted nor evicted, and the lost board is", async () => {
    const [agent] = site.agents;
    if (!agent) throw new Error("no agent");
    const pods = await site.podNames();
    await site.cluster.killApi();
    // One of them dies while its heartbeats cannot be observed.
    site.silence(3);
    await until("the agent reports that the API is down", () => agent.status()?.health.level !== "ok", 15);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await site.cluster.startApi();
    await until("it leads again", () => agent.leads, 30);
    await until("the lost board is tainted", async () => (await site.taints(3)).includes("unreachable:NoExecute"), 30);
    for (const board of [0, 1, 2]) expect(await site.taints(board)).toEqual([]);
    expect(await site.podNames()).toEqual(pods);
    const harmed = site
      .writesOf(agent)
      .filter(
        ({ verb, objectRef }) =>
          verb === "delete" || (objectRef?.resource === "pods" && objectRef.subresource === "status"),
      );
    expect(
      harmed.filter(
        ({ objectRef }) => objectRef?.name !== undefined && !["app-000003", "app-000007"].includes(objectRef.name),
      ),
    ).toEqual([]);
  });
});
