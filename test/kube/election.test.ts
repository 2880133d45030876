import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { fill } from "../support/load.ts";

const timing = { duration: "6s", renewDeadline: "4s", retry: "1s" };
const leaseSeconds = 6;

describe.skipIf(missingAssets())("three agents and one Lease on a real kube-apiserver", () => {
  const site = new KubeSite();
  const quick = {
    nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "4s", evictionRate: 2 },
    judgement: { policy: "kubernetes" },
  };

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 6, seed: 1 });
    site.beat(0, 1, 2);
    for (const board of ["pi-1", "pi-2", "pi-3"])
      site.agent(board, { ...quick, leader: { ...timing, followers: "poll" } });
  });
  afterAll(() => site.stop());

  test("one of them leads and the others follow", async () => {
    await until("a leader", () => site.leader !== undefined, 15);
    await until(
      "the others follow",
      () => site.agents.filter((agent) => agent.status()?.leader?.role === "standby").length === 2,
      15,
    );
    const { spec } = await site.lease();
    expect(spec.holderIdentity).toMatch(new RegExp(`^${site.leader?.board}_`));
  });

  test("their Lease, which all of them read often, has no managedFields", async () => {
    await until("it is renewed", async () => (await site.lease()).metadata.managedFields === undefined, 15);
    const { resourceVersion } = (await site.lease()).metadata;
    await until(
      "it is renewed again",
      async () => (await site.lease()).metadata.resourceVersion !== resourceVersion,
      15,
    );
    expect((await site.lease()).metadata.managedFields).toBeUndefined();
  });

  test("a killed leader is replaced within the lease duration and five seconds", async () => {
    const before = site.leader;
    const term = (await site.lease()).spec.leaseTransitions ?? 0;
    await before?.stop("SIGKILL");
    const took = await until(
      "another leader",
      () => site.agents.some((agent) => agent !== before && agent.leads),
      leaseSeconds + 10,
    );
    expect(took).toBeLessThan(leaseSeconds + 5);
    expect((await site.lease()).spec.leaseTransitions).toBe(term + 1);
    before?.start();
    await until("it is back as a follower", () => before?.status()?.leader?.role === "standby", 15);
  });

  test("a leader that was suspended writes nothing once another leads", async () => {
    const former = site.leader;
    if (!former) throw new Error("there is no leader");
    // A board that falls silent gives the leader something to write.
    site.silence(2);
    former.suspend();
    const suspended = new Date().toISOString();
    await until("another leader", () => site.agents.some((agent) => agent !== former && agent.leads), 3 * leaseSeconds);
    await new Promise((resolve) => setTimeout(resolve, 2 * leaseSeconds * 1000));
    const successor = site.agents.find((agent) => agent !== former && agent.leads);
    if (!successor) throw new Error("there is no leader");
    const began =
      site
        .writesOf(successor)
        .find(
          ({ objectRef, requestReceivedTimestamp }) =>
            requestReceivedTimestamp > suspended && objectRef?.name === "siteward-default",
        )?.requestReceivedTimestamp ?? "";
    former.resume();
    await until("the former leader follows", () => former.status()?.leader?.role === "standby", 20);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(began).not.toBe("");
    expect(site.writesOf(former).filter(({ requestReceivedTimestamp }) => requestReceivedTimestamp > began)).toEqual(
      [],
    );
    expect(await site.taints(2)).toContain("unreachable:NoExecute");
  });

  test("a leader that gets a signal to stop releases the Lease and exits with 0 within five seconds", async () => {
    const leader = site.leader;
    const begun = performance.now();
    expect(await leader?.stop("SIGTERM")).toBe(0);
    expect(performance.now() - begun).toBeLessThan(5000);
    await until(
      "another leader takes the released Lease",
      () => site.agents.some((agent) => agent !== leader && agent.leads),
      4.4,
    );
  });
});

describe.skipIf(missingAssets())("followers that sleep until the term would end", () => {
  const site = new KubeSite();

  beforeAll(async () => {
    await site.start();
    for (const board of ["pi-1", "pi-2"]) site.agent(board, { leader: { ...timing, followers: "expiry" } });
  });
  afterAll(() => site.stop());

  test("replace a killed leader within twice the duration and one retry", async () => {
    await until("a leader", () => site.leader !== undefined, 20);
    const before = site.leader;
    await before?.stop("SIGKILL");
    const took = await until("another leader", () => site.agents.some((agent) => agent !== before && agent.leads), 30);
    expect(took).toBeLessThan(2 * leaseSeconds + 1);
  });
});
