import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../support/agent-process.ts";
import { boardsOnly } from "../../support/boards-only.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { KubeSite } from "../../support/kube/kube-site.ts";
import { FaultyLink } from "../../support/links/faulty-link.ts";
import { boardName, fill } from "../../support/load.ts";

const [own, lost] = [0, 1];
const podsAt = "/api/v1/namespaces/default/pods";
const strategic = "application/strategic-merge-patch+json";
const large = ["large-0", "large-1", "large-2", "large-3"];

/** Of 1.25 MB, which are 7.5 MB in a watch. */
const largePod = (name: string) => pod(name, { env: [{ name: "TEXT", value: "<".repeat(1_250_000) }] });

const pod = (name: string, container: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    nodeName: boardName(name.startsWith("large") ? own : lost),
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: "example/app:1", ...container }],
  },
});

describe.skipIf(missingAssets())("on a thin link that a tenant's large pods keep busy", () => {
  const site = new KubeSite();
  let link: FaultyLink;

  beforeAll(async () => {
    await site.start();
    const { cluster } = site;
    await fill(cluster, { nodes: 2, pods: 2, seed: 1 });
    site.beat(own, lost);
    for (const name of large) await cluster.request("POST", podsAt, largePod(name));
    for (const name of ["stays", "goes"]) await cluster.request("POST", podsAt, pod(name));
    link = new FaultyLink(Number(new URL(cluster.server).port), 1);
    const kubeconfig = path.join(cluster.dir, "thin.kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(`https://127.0.0.1:${await link.listen()}`));
    const agent = site.agent(boardName(own), { controllers: boardsOnly }, kubeconfig);
    await until(
      "the board leads",
      () => agent.isReady,
      60,
      () => agent.log().slice(-3000),
    );
  });
  afterAll(async () => {
    await site.stop();
    await link?.close();
  });

  test("a pod that was given a toleration before its board was tainted is kept, and one without it is evicted", async () => {
    const { cluster } = site;
    link.set({ bytesPerSecond: 200_000 });
    for (const name of large) {
      await cluster.request("PATCH", `${podsAt}/${name}`, { metadata: { labels: { turn: "1" } } }, strategic);
    }
    const tolerations = [{ key: "example.dev/maintenance", operator: "Exists", effect: "NoExecute" }];
    await cluster.request(
      "PATCH",
      `${podsAt}/stays`,
      [{ op: "add", path: "/spec/tolerations/-", value: tolerations[0] }],
      "application/json-patch+json",
    );
    await cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(lost)}`,
      { spec: { taints: [{ key: "example.dev/maintenance", effect: "NoExecute" }] } },
      strategic,
    );
    await until(
      "the other pod goes",
      async () => !(await site.podNames()).includes("goes"),
      60,
      () => (site.agents[0]?.log() ?? "").slice(-2000),
    );
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await site.podNames()).toContain("stays");
  });
});
