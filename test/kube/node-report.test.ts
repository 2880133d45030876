import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { rest } from "../support/rest.ts";

const config = { board: { name: "pi-1", node: boardName(0), sample: "5s" }, leader: { followers: "poll" } };

interface ReportedNode {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

describe.skipIf(missingAssets())("the report of a board on its own Node", () => {
  const site = new KubeSite();
  let agent: AgentProcess;

  const own = (): Promise<ReportedNode> => site.cluster.request("GET", `/api/v1/nodes/${boardName(0)}`);
  const standby = async (): Promise<string | undefined> => (await own()).metadata.annotations?.["siteward.dev/standby"];
  const writesToNode = () =>
    site.writesOf(agent).filter(({ objectRef }) => objectRef?.resource === "nodes" && objectRef.name === boardName(0));

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 2, pods: 0, seed: 1 });
    site.beat(0, 1);
    agent = site.agent("pi-1", config);
  });
  afterAll(() => site.stop());

  test("adds its conditions to those of the kubelet, and whether the board could lead", async () => {
    await until("it reports that it stands by", async () => (await standby()) === "ready", 60);
    const { status } = await own();
    const types = status.conditions.map(({ type }) => type);
    expect(types).toContain("Ready");
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: "StorageVolatile" }));
    expect(types.filter((type) => type === "StorageVolatile")).toHaveLength(1);
  });

  test("is written only on a change and never counts as a heartbeat", async () => {
    const before = writesToNode().length;
    expect(before).toBeLessThanOrEqual(3);
    const { resourceVersion } = (await own()).metadata;
    await rest(20);
    expect(writesToNode()).toHaveLength(before);
    expect((await own()).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("withdraws the standby when the agent stops, restores it at the next start, and does not repeat any write", async () => {
    await agent.stop();
    expect(await standby()).toBe("stopped");
    const before = writesToNode().length;
    agent.start();
    await until("it stands by again", async () => (await standby()) === "ready", 60);
    expect(writesToNode()).toHaveLength(before + 1);
  });
});
