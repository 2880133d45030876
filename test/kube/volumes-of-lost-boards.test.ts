import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { boardsOnly } from "../support/boards-only.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { applyRbac } from "../support/rbac.ts";

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "5s", evictionRate: 5 },
  link: { blip: "2s" },
  judgement: { policy: "evidence", witness: "off" },
  controllers: boardsOnly,
};
const [lost, other] = [2, 1];
const core = "/api/v1/namespaces/default";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";

const owner = (kind: string) => ({ apiVersion: "apps/v1", kind, name: "web", uid: `uid-${kind}`, controller: true });

const podOf = (name: string, kind: string | undefined, more: object = {}): object => ({
  metadata: { name, ...(kind !== undefined && { ownerReferences: [owner(kind)] }) },
  spec: {
    nodeName: boardName(lost),
    containers: [{ name: "main", image: "main:1" }],
    tolerations: ["unreachable", "not-ready"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 1,
    })),
    ...more,
  },
});

describe.skipIf(missingAssets())("the pods of a lost board, with the permissions of systemd/rbac.yaml", () => {
  const site = new KubeSite();
  const { cluster } = site;

  async function pod(name: string, kind: string | undefined, more: object = {}): Promise<void> {
    await cluster.request("POST", `${core}/pods`, podOf(name, kind, more));
    const conditions = [{ type: "Ready", status: "True" }];
    await cluster.request(
      "PATCH",
      `${core}/pods/${name}/status`,
      { status: { phase: "Running", conditions } },
      strategic,
    );
  }

  /** A claim, and the volume that is bound to it, which only one board can use. */
  async function volumeOn(board: number, name: string): Promise<object> {
    const size = { storage: "1Gi" };
    const modes = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
    const claim = await cluster.request<{ readonly metadata: { readonly uid: string } }>(
      "POST",
      `${core}/persistentvolumeclaims`,
      { metadata: { name }, spec: { ...modes, resources: { requests: size }, volumeName: `volume-${name}` } },
    );
    const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values: [boardName(board)] }];
    await cluster.request("POST", "/api/v1/persistentvolumes", {
      metadata: { name: `volume-${name}` },
      spec: {
        ...modes,
        capacity: size,
        local: { path: "/data" },
        claimRef: { namespace: "default", name, uid: claim.metadata.uid },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
      },
    });
    return { volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] };
  }

  beforeAll(async () => {
    await site.start();
    await fillBoards(cluster, { nodes: 3, pods: 0, seed: 1 });
    for (const board of [0, 1, 2]) {
      const labels = { "kubernetes.io/hostname": boardName(board) };
      await cluster.request("PATCH", `/api/v1/nodes/${boardName(board)}`, { metadata: { labels } }, merge);
    }
    await applyRbac(cluster);
    const kubeconfig = path.join(cluster.dir, "kubeconfig-of-the-agent");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(cluster.server, { token: cluster.agentToken }));
    site.beat(0, 1, 2);
    const agent = site.agent(boardName(0), config, kubeconfig);
    await until("it leads", () => agent.isReady && agent.leads, 30);
    await pod("moves", "ReplicaSet");
    await pod("set", "StatefulSet");
    await pod("bare", undefined);
    await pod("local", "ReplicaSet", await volumeOn(lost, "local"));
    await pod("shared", "ReplicaSet", await volumeOn(other, "shared"));
    site.silence(lost);
  });
  afterAll(() => site.stop());

  const deleted = async (): Promise<readonly string[]> => {
    const { items } = await cluster.request<{
      readonly items: readonly { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } }[];
    }>("GET", `${core}/pods`);
    return items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [] : [metadata.name])).sort();
  };

  test("leave if another board can take them over, and stay otherwise, with an Event", async () => {
    await until("two leave", async () => (await deleted()).length === 2, 60);
    const events = async (): Promise<readonly string[]> => {
      const { items } = await cluster.request<{ readonly items: readonly { readonly message: string }[] }>(
        "GET",
        `${core}/events`,
      );
      return items.flatMap(({ message }) => /^Not deleting Pod default\/(\w+)/.exec(message)?.[1] ?? []).sort();
    };
    await until("the others are explained", async () => (await events()).length === 3, 30);
    expect([await deleted(), await events()]).toEqual([
      ["moves", "shared"],
      ["bare", "local", "set"],
    ]);
    const [agent] = site.agents;
    if (agent === undefined) throw new Error("there is no agent");
    const { health } = site.statusOf(agent);
    expect(health.conditions.map(({ type }) => type)).not.toContain("PermissionMissing");
  });

  test("that stay leave once their annotation says so", async () => {
    const annotations = { "siteward.dev/on-silence": "replace-when-lost" };
    await cluster.request("PATCH", `${core}/pods/bare`, { metadata: { annotations } }, merge);
    await until("the pod leaves", async () => (await deleted()).includes("bare"), 20);
    expect(await deleted()).not.toContain("set");
  });
});
