import { asInstalled } from "../bench/as-installed.ts";
import { until } from "../support/agent-process.ts";
import { putInStore, storedPod } from "../support/kube/etcd-store.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { SeededChance } from "../support/load-chance.ts";
import { rest } from "../support/rest.ts";
import { cachedText } from "./cached.ts";
import type { Load, LoadContext } from "./load.ts";
import { shown, watched } from "./watched-agent.ts";

const each = 30;
const changes = 5;
const megabyte = 1 << 20;

/** Objects as large as etcd accepts, or as the cache does, and pods with 5 000 annotations. */
export const largeObjects: Load = {
  name: "large-objects",
  summary: `${each} pods of 1 MB, ${each} services of 128 KB, ${each} pods with 5 000 annotations, found at the start and changed ${changes} times`,
  run,
};

async function run({ seed, say, check }: LoadContext): Promise<void> {
  const site = new KubeSite();
  const chance = new SeededChance(seed);
  try {
    await site.start();
    await fillBoards(site.cluster, { nodes: 3, pods: 0, seed });
    site.beat(0, 1, 2);
    const filling = chance.text(megabyte);
    const annotations = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`load/${i}`, chance.text(20)]));
    const large = (i: number, mark: number) =>
      storedPod(`large-${i}`, boardName(i % 3), {
        labels: { mark: `m${mark}` },
        env: [{ name: "FILLING", value: filling }],
      });
    const annotated = (i: number, mark: number) =>
      storedPod(`annotated-${i}`, boardName(i % 3), { labels: { mark: `m${mark}` }, annotations });
    const service = (i: number, mark: number) => ({
      at: `services/specs/default/large-${i}`,
      object: {
        apiVersion: "v1",
        kind: "Service",
        metadata: {
          name: `large-${i}`,
          namespace: "default",
          uid: `uid-service-${i}`,
          creationTimestamp: "2026-01-01T00:00:00Z",
          labels: { mark: `m${mark}` },
          annotations: { filling: filling.slice(0, megabyte / 8) },
        },
        spec: {
          type: "ClusterIP",
          clusterIP: "None",
          clusterIPs: ["None"],
          selector: { mark: "none" },
          ports: [{ name: "http", port: 80, targetPort: 80, protocol: "TCP" }],
          sessionAffinity: "None",
          ipFamilies: ["IPv4"],
          ipFamilyPolicy: "SingleStack",
          internalTrafficPolicy: "Cluster",
        },
      },
    });
    const all = (mark: number) =>
      Array.from({ length: each }, (_, i) => [large(i, mark), annotated(i, mark), service(i, mark)]).flat();
    await putInStore(site.cluster.etcd, all(0), 1);
    const agent = site.agent("pi-1", asInstalled);
    await until("the agent is ready", () => agent.isReady, 120);
    say(`found at the start: peak ${agent.memory().peak.toFixed(1)} MB`);
    const change = async (): Promise<void> => {
      for (let mark = 1; mark <= changes; mark++) {
        await putInStore(site.cluster.etcd, all(mark), 1);
        await rest(1);
      }
    };
    const seen = await watched(agent, change());
    const isThere = (key: string): boolean => cachedText(agent, "pods", key)?.includes(`"m${changes}"`) === true;
    await until(
      "the cache shows the last change",
      () => isThere(`default/large-${each - 1}`) && isThere(`default/annotated-${each - 1}`),
      60,
    );
    say(`changed ${changes} times: ${shown(seen)}`);
    const rejected = agent.status()?.health.conditions.filter(({ type }) => type === "ObjectsRejected") ?? [];
    check(rejected.length === 0, rejected.map(({ message }) => message).join("; "));
    check(seen.missed === 0 && seen.terms === 1, `${seen.missed} renewals were missed, ${seen.terms} terms`);
    check(agent.memory().peak <= 140, `peak ${agent.memory().peak.toFixed(1)} MB`);
  } finally {
    await site.stop();
  }
}
