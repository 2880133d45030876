import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { order } from "../support/order.ts";

const strategic = "application/strategic-merge-patch+json";

describe.skipIf(missingAssets())("an operator's word on a real API server", () => {
  const site = new KubeSite();
  const [zone0, zone1] = [
    [0, 2, 4],
    [1, 3, 5],
  ];
  const config = {
    leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
    nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", evictionRate: 5, secondaryRate: 5 },
    link: { blip: "2s" },
    judgement: { policy: "evidence" },
    safety: { maxBoards: 6, maxHarmPerHour: 100 },
  };

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 6, pods: 12, seed: 1 });
    site.beat(...zone0, ...zone1);
    for (const i of zone0.slice(0, 2)) site.agent(boardName(i), config);
    await until(
      "there is a leader",
      () => site.leader?.isReady === true,
      30,
      () => site.agents[0]?.log().slice(-2000) ?? "",
    );
  });
  afterAll(() => site.stop());

  const isTainted = async (i: number) => (await site.taints(i)).includes("unreachable:NoExecute");
  const areTainted = async (boards: readonly number[], wanted: boolean) =>
    (await Promise.all(boards.map(isTainted))).every((is) => is === wanted);

  /** Power is back: the kubelets report, and renew their Leases. */
  async function revive(...boards: readonly number[]): Promise<void> {
    site.beat(...boards);
    for (const i of boards) {
      const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      const ready = { type: "Ready", status: "True", lastTransitionTime: now, lastHeartbeatTime: now };
      const url = `/api/v1/nodes/${boardName(i)}/status`;
      await site.cluster.request("PATCH", url, { status: { conditions: [ready] } }, strategic);
    }
  }

  function leader() {
    if (!site.leader) throw new Error("there is no leader");
    return site.leader;
  }

  test("the confirmation that a zone is dead does not cover boards that have returned, even under another leader", async () => {
    site.silence(...zone1);
    await until("the zone is tainted", () => areTainted(zone1, true), 60);
    const confirmed = await order(leader(), "zone.confirm-dead", { zone: "zone-1", ttl: 86_400 });
    expect(confirmed, JSON.stringify(confirmed)).toMatchObject({ state: "succeeded" });
    await revive(...zone1);
    await until("its boards are back", () => areTainted(zone1, false), 60);
    const former = leader();
    await former.stop("SIGKILL");
    await until("the other one leads", () => site.leader?.isReady === true, 30);
    site.silence(...zone0, ...zone1);
    await until("the boards are Unknown", async () => (await site.ready(1)) === "Unknown", 30);
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    for (const i of [...zone0, ...zone1]) expect(await isTainted(i), boardName(i)).toBe(false);
    expect(await order(leader(), "zone.unconfirm-dead", { zone: "zone-1" })).toMatchObject({
      state: "succeeded",
      result: { wasConfirmed: true },
    });
    await revive(...zone0, ...zone1);
    former.start();
    await until("the boards are back", async () => (await site.ready(1)) === "True", 30);
  });

  test("that tells each leader in turn to step down does not leave the site without a leader", async () => {
    const first = leader();
    const second = site.agents.find((agent) => agent !== first);
    const stepDown = () => order(leader(), "leader.step-down", { holdOff: 3600 });
    expect(await stepDown()).toMatchObject({ state: "succeeded" });
    await until("the other one leads", () => second?.isReady === true && second.leads, 30);
    expect(await stepDown()).toMatchObject({ state: "succeeded" });
    await until("no board leads", () => site.leader === undefined, 10);
    // Two lease durations and two retries.
    await until("one of them leads again", () => site.leader?.isReady === true, 40);
  });
});
