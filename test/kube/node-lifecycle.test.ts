import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill, podName } from "../support/load.ts";

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "5s", startupGracePeriod: "5s", evictionRate: 2 },
  judgement: { policy: "kubernetes" },
};

describe.skipIf(missingAssets())("silent boards on a real kube-apiserver", () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 4, pods: 4, seed: 1 });
    site.beat(0, 1, 2, 3);
    site.agent("pi-1", config);
    await until("the agent leads", () => site.leader !== undefined, 20);
  });
  afterAll(() => site.stop());

  test("while all boards send heartbeats none is tainted", async () => {
    await new Promise((resolve) => setTimeout(resolve, 8000));
    for (const board of [0, 1, 2, 3]) expect(await site.taints(board)).toEqual([]);
  });

  test("a silent board becomes Unknown, is tainted, and its pod is marked not ready", async () => {
    site.silence(0);
    await until("NoExecute", async () => (await site.taints(0)).includes("unreachable:NoExecute"), 15);
    expect(await site.ready(0)).toBe("Unknown");
    await until("NoSchedule", async () => (await site.taints(0)).includes("unreachable:NoSchedule"), 5);
    const pod = await site.cluster.request<{ status: { conditions: { type: string; status: string }[] } }>(
      "GET",
      `/api/v1/namespaces/default/pods/${podName(0)}`,
    );
    expect(pod.status.conditions.find(({ type }) => type === "Ready")?.status).toBe("False");
    expect(await site.podNames()).toContain(podName(0));
  });

  test("a pod without a toleration is evicted from a board that a person taints, and no other pod is evicted", async () => {
    const path = `/api/v1/nodes/${boardName(1)}`;
    await site.cluster.request(
      "PATCH",
      path,
      { spec: { taints: [{ key: "maintenance", effect: "NoExecute" }] } },
      "application/merge-patch+json",
    );
    await until("the pod is evicted", async () => !(await site.podNames()).includes(podName(1)), 10);
    expect(await site.podNames()).toEqual(expect.arrayContaining([podName(2), podName(3)]));
  });

  test("a board that recovers loses its taints", async () => {
    const status = {
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "Back",
            message: "back",
            lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
            lastTransitionTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
          },
        ],
      },
    };
    await site.cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(0)}/status`,
      status,
      "application/strategic-merge-patch+json",
    );
    site.beat(0);
    await until("no taints", async () => (await site.taints(0)).length === 0, 10);
  });
});
