import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type AgentProcess, until } from "../../support/agent-process.ts";
import { missingAssets } from "../../support/kube/kube-cluster.ts";
import { KubeSite } from "../../support/kube/kube-site.ts";
import { FaultyLink } from "../../support/links/faulty-link.ts";
import { boardName, fill } from "../../support/load.ts";

const podsAt = "/api/v1/namespaces/default/pods";
const setsAt = "/apis/apps/v1/namespaces/default/daemonsets";
const merge = "application/merge-patch+json";

/** Of 1.25 MB, which are 7.5 MB in a watch. */
const container = { name: "main", image: "example/app:1", env: [{ name: "TEXT", value: "<".repeat(1_250_000) }] };
const labels = { app: "large" };
const largePod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: { nodeName: boardName(0), containers: [container] },
});
/** It wants no pods. */
const largeSet = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name, namespace: "default" },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { nodeSelector: { at: "nowhere" }, containers: [container] } },
  },
});

/** Each large event takes about 25 s on the thin link, which both watches share, and a watch stalls after 15 s. */
describe.skipIf(missingAssets())("two watches on a thin link, while a tenant changes four large objects,", () => {
  const site = new KubeSite();
  let link: FaultyLink;
  let agent: AgentProcess;

  const watchOf = (resource: RegExp) => agent.status()?.watches?.find((watch) => resource.test(watch.resource));
  /** Of these watches: resources that rest may stall within so short a time. */
  const problems = () =>
    agent
      .status()
      ?.health.conditions.filter(
        ({ type, subject = "" }) => type === "WatchFailing" && /^(pods|daemonsets)/.test(subject),
      );

  beforeAll(async () => {
    await site.start();
    const { cluster } = site;
    await fill(cluster, { nodes: 1, pods: 1, seed: 1 });
    site.beat(0);
    for (const name of ["large-1", "large-2"]) {
      await cluster.request("POST", podsAt, largePod(name));
      await cluster.request("POST", setsAt, largeSet(name));
    }
    link = new FaultyLink(Number(new URL(cluster.server).port), 1);
    const kubeconfig = path.join(cluster.dir, "thin.kubeconfig");
    writeFileSync(kubeconfig, cluster.kubeconfigFor(`https://127.0.0.1:${await link.listen()}`));
    agent = site.agent(boardName(0), { link: { watchStall: "15s" } }, kubeconfig);
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

  test("deliver those objects and the events after them", async () => {
    const { cluster } = site;
    const before = { pods: watchOf(/^pods/)?.objects ?? 0, sets: watchOf(/^daemonsets/)?.objects ?? 0 };
    link.set({ bytesPerSecond: 600_000 });
    for (const name of ["large-1", "large-2"])
      for (const at of [podsAt, setsAt])
        await cluster.request("PATCH", `${at}/${name}`, { metadata: { labels: { turn: "1" } } }, merge);
    const small = largePod("small");
    await cluster.request("POST", podsAt, {
      ...small,
      spec: { ...small.spec, containers: [{ name: "main", image: "example/app:1" }] },
    });
    const set = largeSet("small");
    const bare = { name: "main", image: "example/app:1" };
    const template = { ...set.spec.template, spec: { ...set.spec.template.spec, containers: [bare] } };
    await cluster.request("POST", setsAt, { ...set, spec: { ...set.spec, template } });
    const seen = () => ({ pods: watchOf(/^pods/)?.objects, sets: watchOf(/^daemonsets/)?.objects });
    await until(
      "both watches have passed the large objects",
      () => seen().pods === before.pods + 1 && seen().sets === before.sets + 1,
      90,
      () => `${JSON.stringify([before, agent.status()?.watches])} ${agent.log().slice(-3000)}`,
    );
    await until("neither has a problem", () => problems()?.length === 0, 20);
  });
});
