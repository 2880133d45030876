import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentProcess, until } from "../support/agent-process.ts";
import { BoardTree } from "../support/board-tree.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { canMount } from "../support/mounts.ts";
import { rest } from "../support/rest.ts";

const alarm = "/sys/devices/platform/soc/soc:firmware/raspberrypi-hwmon/hwmon/hwmon1/in0_lcrit_alarm";

const why = missingAssets() ? "needs the servers that KUBEBUILDER_ASSETS names" : "needs the right to mount";
if (missingAssets() || !canMount()) console.log(`sick-leader.test.ts is skipped: ${why}`);

interface ReportedNode {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

/** Two agents, each with the /sys of a Raspberry Pi 3B+ mounted over that of this machine. */
describe.skipIf(missingAssets() || !canMount())("a leader whose supply voltage drops", () => {
  const site = new KubeSite();
  const trees = [new BoardTree("raspberry-pi-3-b-plus"), new BoardTree("raspberry-pi-3-b-plus")];
  const agents: AgentProcess[] = [];

  const node = (i: number): Promise<ReportedNode> => site.cluster.request("GET", `/api/v1/nodes/${boardName(i)}`);
  const standby = async (i: number) => (await node(i)).metadata.annotations?.["siteward.dev/standby"];
  const undervoltage = async (i: number) =>
    (await node(i)).status.conditions.find(({ type }) => type === "PowerUndervoltage")?.status;

  function board(i: number): AgentProcess {
    const sys = path.join(trees[i]?.root ?? "", "sys");
    const agent = new AgentProcess({
      dir: site.cluster.dir,
      board: `pi-${i}`,
      kubeconfig: site.cluster.kubeconfig,
      config: {
        board: { name: `pi-${i}`, node: boardName(i), sample: "5s" },
        leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll", sickFor: "10s" },
      },
      through: ["unshare", "-m", "sh", "-c", `mount --bind ${sys} /sys && exec "$@"`, "sh"],
    });
    site.agents.push(agent);
    agents.push(agent);
    agent.start();
    return agent;
  }

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 2, pods: 0, seed: 1 });
    site.beat(0, 1);
    const first = board(0);
    await until("the first leads", () => first.leads, 30);
  });
  afterAll(async () => {
    await site.stop();
    for (const tree of trees) tree.remove();
  });

  test("keeps leading while it is alone, because a sick leader is better than none", async () => {
    trees[0]?.set({ [alarm]: "1\n" });
    await until("the Node shows it", async () => (await undervoltage(0)) === "True", 60);
    await rest(15);
    expect(agents[0]?.leads).toBe(true);
    expect(await standby(0)).toBe("unwell");
  });

  test("hands the Lease to a standby, and does not take it back", async () => {
    const second = board(1);
    await until("the second stands by", async () => (await standby(1)) === "ready", 60);
    await until(
      "it leads",
      () => second.leads,
      60,
      () => agents[0]?.log().slice(-1500) ?? "",
    );
    expect(agents[0]?.log()).toMatch(/undervolted for \S+, and board-0001 is a standby/);
    await rest(10);
    expect(second.leads).toBe(true);
    expect(agents[0]?.status()?.health.conditions.map(({ type }) => type)).toContain("UnderVoltage");
  });

  test("leads again when the other board is down", async () => {
    await agents[1]?.stop("SIGKILL");
    await until("the sick board leads", () => agents[0]?.leads === true, 60);
  });
});
