import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { order } from "../support/order.ts";

const merge = "application/merge-patch+json";
const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const pods = "/api/v1/namespaces/default/pods";

describe.skipIf(missingAssets())("on a real API server", () => {
  const site = new KubeSite();
  const [first, second, victim] = [0, 1, 2];
  const config = {
    leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
    nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", evictionRate: 5, secondaryRate: 5 },
    link: { blip: "2s" },
    judgement: { policy: "evidence" },
  };

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 6, pods: 12, seed: 1 });
    site.beat(0, 1, 2, 3, 4, 5);
    for (const board of [first, second]) site.agent(boardName(board), config);
    await until("there is a leader", () => site.leader?.isReady === true, 30);
  });
  afterAll(() => site.stop());

  test("a freeze outlives the SIGKILL of the leader that accepted it, and the next leader can thaw it", async () => {
    const former = site.leader;
    if (!former) throw new Error("there is no leader");
    const other = site.agents.find((agent) => agent !== former);
    expect(await order(former, "eviction.freeze", { scope: "site", ttl: 3600 })).toMatchObject({ state: "succeeded" });
    await former.stop("SIGKILL");
    site.silence(victim);
    await until("the other one leads", () => other?.isReady === true, 30);
    await until("the board is Unknown", async () => (await site.ready(victim)) === "Unknown", 30);
    // Long past the time at which it would have been tainted, and its pods deleted.
    await new Promise((resolve) => setTimeout(resolve, 8000));
    expect(await site.taints(victim)).toEqual(["unreachable:NoSchedule"]);
    const { annotations } = (await site.lease()).metadata;
    const { left, by } = JSON.parse(annotations?.["siteward.dev/holds"] ?? "{}").freezes.site;
    expect(left).toBeGreaterThan(3500);
    expect(by).toMatch(/^local:/);
    if (!other) throw new Error("there is no other");
    expect(await order(other, "eviction.thaw", { scope: "site" })).toMatchObject({
      state: "succeeded",
      result: { wasFrozen: true },
    });
    const isTainted = async () => (await site.taints(victim)).includes("unreachable:NoExecute");
    await until("the board is tainted", isTainted, 30, () => other.log().slice(-2000));
  });

  test("a leader that is ordered to step down hands the Lease to the named board once that board is a standby", async () => {
    const { leader } = site;
    const heir = site.agents.find((agent) => agent !== leader);
    if (!leader || !heir) throw new Error("there is no leader or no second board");
    const stepDown = () => order(leader, "leader.step-down", { to: heir.board, holdOff: 120 });
    expect(heir.running).toBe(false);
    heir.start();
    const url = `/api/v1/nodes/${heir.board}`;
    const standby = async () => {
      const { metadata } = await site.cluster.request<{ metadata: { annotations?: Record<string, string> } }>(
        "GET",
        url,
      );
      return metadata.annotations?.["siteward.dev/standby"];
    };
    await until(
      "it stands by",
      async () => (await standby()) === "ready",
      60,
      () => heir.log().slice(-2000),
    );
    const answer = await stepDown();
    expect(answer, JSON.stringify(answer)).toMatchObject({ state: "succeeded", result: { to: heir.board } });
    await until(
      "it leads",
      () => heir.isReady,
      30,
      () => heir.log().slice(-2000),
    );
    expect(leader.leads).toBe(false);
  });

  test("a drain respects disruption budgets and resumes when they permit it", async () => {
    const agent = site.leader;
    if (!agent) throw new Error("there is no leader");
    const [mine = ""] = (await podsOn(site, agent.board)).map(({ metadata }) => metadata.name);
    const labels = { guarded: "yes" };
    await site.cluster.request("PATCH", `${pods}/${mine}`, { metadata: { labels } }, merge);
    const spec = { minAvailable: 1, selector: { matchLabels: labels } };
    await site.cluster.request("POST", budgets, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guard" },
      spec,
    });
    const allow = (disruptionsAllowed: number) => {
      const counts = {
        currentHealthy: 1 + disruptionsAllowed,
        desiredHealthy: 1,
        expectedPods: 1 + disruptionsAllowed,
      };
      const status = { observedGeneration: 1, disruptionsAllowed, ...counts };
      return site.cluster.request("PATCH", `${budgets}/guard/status`, { status }, merge);
    };
    await allow(0);
    const blocked = await order(agent, "board.drain", { timeout: 12, force: true, gracePeriod: 0 });
    expect(blocked).toMatchObject({ state: "failed", code: 409, error: "pdb-blocked", result: { left: 1 } });
    expect((await site.node(Number(agent.board === boardName(second)))).spec).toMatchObject({ unschedulable: true });
    await allow(1);
    expect(await order(agent, "board.drain", { timeout: 60, force: true, gracePeriod: 0 })).toMatchObject({
      state: "succeeded",
      result: { left: 0, evicted: 1 },
    });
    expect(await podsOn(site, agent.board)).toEqual([]);
  });

  test("a drain leaves pods without a controller that appear during it, and an uncordon ends it", async () => {
    const agent = site.leader;
    if (!agent) throw new Error("there is no leader");
    const { board } = agent;
    expect(await order(agent, "board.uncordon", {})).toMatchObject({ state: "succeeded" });
    const bind = (name: string, more: object) => {
      const spec = {
        nodeName: board,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "main", image: "main:1" }],
      };
      return site.cluster.request("POST", pods, {
        ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", ...more }, spec },
      });
    };
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "of-web", controller: true };
    const managed = { ownerReferences: [owner] };
    const ofNoDaemonSet = { ownerReferences: [{ ...owner, kind: "DaemonSet", name: "missing" }] };
    const finalizers = ["siteward.dev/test"];
    const isEvicted = async (name: string) => {
      const pod = (await podsOn(site, board)).find(({ metadata }) => metadata.name === name);
      return pod?.metadata.deletionTimestamp !== undefined || pod === undefined;
    };
    // A finalizer keeps this pod, so that the drain cannot end.
    await bind("kept", { ...managed, finalizers });
    const drain = order(agent, "board.drain", { timeout: 120 });
    await until("a pod is evicted", () => isEvicted("kept"), 30);
    await bind("bare", {});
    await bind("daemon", ofNoDaemonSet);
    await bind("web-1", managed);
    await until("a pod of a controller is evicted", () => isEvicted("web-1"), 30);
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(await Promise.all([isEvicted("bare"), isEvicted("daemon")])).toEqual([false, false]);
    const problem = /BoardDraining|is being drained/;
    expect(JSON.stringify(agent.status()?.health.conditions)).toMatch(problem);
    await site.cluster.request("PATCH", `/api/v1/nodes/${board}`, { spec: { unschedulable: null } }, merge);
    await bind("web-2", managed);
    expect(await drain).toMatchObject({
      ...{ state: "failed", code: 409, error: "uncordoned" },
      result: { evicted: 2, pods: ["default/kept", "default/web-1"] },
    });
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(await isEvicted("web-2")).toBe(false);
    expect(agent.log()).toContain("pod evicted by a drain");
    await site.cluster.request("PATCH", `${pods}/kept`, { metadata: { finalizers: null } }, merge);
  });
});

interface PodObject {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
}

async function podsOn(site: KubeSite, board: string): Promise<readonly PodObject[]> {
  const url = `${pods}?fieldSelector=spec.nodeName%3D${board}`;
  const { items } = await site.cluster.request<{ items: readonly PodObject[] }>("GET", url);
  return items;
}
