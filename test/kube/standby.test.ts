import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";

const rates = { evictionRate: 2, secondaryRate: 0.5 };
const held = { holderIdentity: "another", leaseDurationSeconds: 3 };

describe.skipIf(missingAssets())("a board that keeps its watches open only while it leads", () => {
  const site = new KubeSite();
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default";

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 3, seed: 1 });
    site.beat(0, 1, 2);
    site.agent("pi-1", {
      standby: "cold",
      link: { blip: "2s" },
      nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "4s", ...rates },
      leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
    });
  });
  afterAll(() => site.stop());

  test("does not mistake the term of another board for an outage: evictions have the usual rate", async () => {
    await until("it leads", () => site.leader?.isReady === true, 20);
    const [agent] = site.agents;
    const leaseTransitions = ((await site.lease()).spec.leaseTransitions ?? 0) + 1;
    for (let second = 1; second <= 5; second++) {
      const spec = { ...held, leaseTransitions, renewTime: `2026-01-01T00:00:0${second}.000000Z` };
      await site.cluster.request("PATCH", lease, { spec }, "application/merge-patch+json");
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    await until("it follows", () => agent?.status()?.leader?.role === "standby", 10);
    expect(agent?.status()?.watches?.map(({ state }) => state)).not.toContain("live");
    await until(
      "it leads again",
      () => agent?.isReady === true && agent.status()?.leader?.term === leaseTransitions + 1,
      20,
    );
    await until("it judges the zones", () => agent?.status()?.zones?.[0]?.state === "Normal", 10);
    // After an outage they would be held back for a grace period, and have a reduced rate afterwards.
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(new Set(agent?.status()?.zones?.map(({ rate }) => rate))).toEqual(new Set([rates.evictionRate]));
  });
});
