import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentCondition, type AgentProcess, until } from "../support/agent-process.ts";
import { ControllerManager } from "../support/kube/controller-manager.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { siteward } from "../support/siteward-command.ts";

const config = {
  leader: { duration: "15s", renewDeadline: "10s", retry: "2s" },
  nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "10s", startupGracePeriod: "10s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
};

/** It judges sooner than the agent, so that it writes first. */
const quick = { "node-monitor-grace-period": "4s", "node-monitor-period": "1s", "node-startup-grace-period": "4s" };

describe.skipIf(missingAssets())("a kube-controller-manager that judges the same boards", () => {
  const site = new KubeSite();
  const manager = new ControllerManager(site.cluster);
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 3, seed: 1 });
    site.beat(0, 1, 2);
    agent = site.agent("pi-1", config);
    await until(
      "it leads",
      () => agent.isReady,
      30,
      () => agent.log().slice(-1500),
    );
    // Each board is checked once first, so that later changes are known to be new.
    await new Promise((resolve) => setTimeout(resolve, 25_000));
  });
  afterAll(async () => {
    await manager.stop();
    await site.stop();
  });

  const second = (): AgentCondition | undefined =>
    agent.status()?.health.conditions.find(({ type }) => type === "SecondJudge");

  /** The board's kubelet is back and reports ready. */
  async function back(board: number): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    const conditions = [{ type: "Ready", status: "True", reason: "Back", message: "back", ...times }];
    await site.cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(board)}/status?fieldManager=kubelet`,
      { status: { conditions } },
      "application/strategic-merge-patch+json",
    );
    site.beat(board);
  }

  test("with the documented flags it does not judge any board, and the agent's own judgement is never attributed to it", async () => {
    const flags = { ...quick, "leader-elect": "true" };
    await manager.start("*,-node-lifecycle-controller,-taint-eviction-controller", flags);
    site.silence(0);
    await until("the agent taints it", async () => (await site.taints(0)).includes("unreachable:NoExecute"), 40);
    await new Promise((resolve) => setTimeout(resolve, 35_000));
    expect(second()).toBeUndefined();
    const doctor = await siteward(["doctor", "--only", "node.judge", "--config", `${agent.dir}/siteward.yaml`]);
    expect(doctor.stdout).toMatch(
      /^\[info\] +node\.judge +no other controller has left a trace on the 3 boards checked, but a kube-controller-manager is running/m,
    );
    expect(doctor.code).toBe(0);
    await back(0);
    await until("it is clean", async () => (await site.taints(0)).length === 0, 20);
    await manager.stop();
  });

  test("without the flags its first write is reported as a critical problem, with the flags as the hint", async () => {
    await manager.start("node-lifecycle-controller", quick);
    site.silence(1);
    await until("it is tainted", async () => (await site.taints(1)).includes("unreachable:NoExecute"), 40);
    await until(
      "the problem is reported",
      () => second() !== undefined,
      90,
      () => agent.log().slice(-1500),
    );
    const condition = second();
    expect(condition).toMatchObject({ severity: "critical", subject: "kube-controller-manager" });
    expect(condition?.message).toMatch(
      /^kube-controller-manager judges the boards of this site too: it wrote \w+ of board-0001/,
    );
    expect(condition?.hint).toContain(
      "-node-lifecycle-controller,-taint-eviction-controller to the --controllers of kube-controller-manager",
    );
    expect((await siteward(["status", "--file", agent.statusFile])).code).toBe(2);

    const doctor = await siteward(["doctor", "--only", "node.judge", "--config", `${agent.dir}/siteward.yaml`]);
    expect(doctor.stdout).toMatch(/^\[FAIL\] +node\.judge +kube-controller-manager judges/m);
    expect(doctor.code).toBe(1);
  });

  test("the checks are cheap: metadata of single Nodes and no list", async () => {
    const looks = site
      .requestsOf(agent)
      .filter(({ verb, objectRef }) => verb === "get" && objectRef?.resource === "nodes");
    expect(looks.length).toBeGreaterThan(3);
    expect(looks.length).toBeLessThan(20);
  });
});
