import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fill } from "../support/load.ts";
import { order } from "../support/order.ts";
import { applyRbac, askedFor, permitted } from "../support/rbac.ts";

const config = {
  // With selectors, so that the namespaces are watched as well.
  site: { name: "default", nodeSelector: "kubernetes.io/os=linux", namespaceSelector: "kubernetes.io/metadata.name" },
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "5s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
  daemonSet: { bind: true },
};

/**
 * Requested only if the watch lags behind our own writes, or if two writers collide: no story can provoke that with
 * certainty. Volumes are read under policy `evidence` alone (volumes-of-lost-boards.test.ts).
 */
const rare = [
  "get endpointslices.discovery.k8s.io",
  "get controllerrevisions.apps",
  "get services",
  "get persistentvolumeclaims",
  "get persistentvolumes",
];

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const sets = "/apis/apps/v1/namespaces/default/daemonsets";
const core = "/api/v1/namespaces/default";
const discovery = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

interface List {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec?: { nodeName?: string; containers?: readonly { image: string }[] };
  }[];
}

class Story extends KubeSite {
  list(url: string): Promise<List> {
    return this.cluster.request("GET", url);
  }

  /** Acts for the kubelets: removes terminating pods. */
  async sweep(): Promise<void> {
    const { items } = await this.list(`${core}/pods`);
    for (const { metadata } of items) {
      if (!("deletionTimestamp" in metadata)) continue;
      await this.cluster.request("DELETE", `${core}/pods/${metadata.name}?gracePeriodSeconds=0`).catch(() => undefined);
    }
  }

  /** Waits until each board has a bound pod of this image and none of another. */
  async rolledOut(image: string, more: () => string): Promise<void> {
    const isDone = async (): Promise<boolean> => {
      await this.sweep();
      const { items } = await this.list(`${core}/pods?labelSelector=app%3Dlogs`);
      return items.length === 3 && items.every(({ spec }) => spec?.nodeName && spec.containers?.[0]?.image === image);
    };
    await until(`pods of ${image}`, isDone, 30, more);
  }

  /** A board's kubelet reports itself ready. */
  speak(board: number): Promise<unknown> {
    const now = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    const conditions = [{ type: "Ready", status: "True", reason: "Back", message: "back", ...times }];
    return this.cluster.request(
      "PATCH",
      `/api/v1/nodes/${boardName(board)}/status`,
      { status: { conditions } },
      strategic,
    );
  }

  image(name: string): Promise<unknown> {
    const spec = { template: { spec: { containers: [{ name: "main", image: name }] } } };
    return this.cluster.request("PATCH", `${sets}/logs`, { spec }, merge);
  }

  async revisions(): Promise<number> {
    return (await this.list("/apis/apps/v1/namespaces/default/controllerrevisions")).items.length;
  }
}

const daemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "logs" },
  spec: {
    revisionHistoryLimit: 0,
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 3 } },
    selector: { matchLabels: { app: "logs" } },
    template: {
      metadata: { labels: { app: "logs" } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "logs:1" }] },
    },
  },
};

const service = (name: string, spec: object): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

describe.skipIf(missingAssets())("with the permissions of systemd/rbac.yaml and no others", () => {
  const site = new Story();
  let agent: AgentProcess;

  beforeAll(async () => {
    await site.start();
    await fill(site.cluster, { nodes: 3, pods: 6, seed: 1 });
    site.beat(0, 1, 2);
    // Left over from a deleted service.
    await site.cluster.request("POST", `${core}/endpoints`, { metadata: { name: "left-over" } });
    await applyRbac(site.cluster);
    const kubeconfig = path.join(site.cluster.dir, "kubeconfig-of-the-agent");
    writeFileSync(kubeconfig, site.cluster.kubeconfigFor(site.cluster.server, { token: site.cluster.agentToken }));
    agent = site.agent("pi-1", config, kubeconfig);
    await until(
      "it leads",
      () => agent.isReady,
      20,
      () => agent.log().slice(-1500),
    );
  });
  afterAll(() => site.stop());

  test("a DaemonSet is rolled out and rolled back, and a pod with the same labels is adopted", async () => {
    const spec = { containers: [{ name: "a", image: "a" }], nodeName: boardName(0) };
    await site.cluster.request("POST", `${core}/pods`, { metadata: { name: "orphan", labels: { app: "logs" } }, spec });
    await site.cluster.request("POST", sets, daemonSet);
    await site.rolledOut("logs:1", tail);
    await site.image("logs:2");
    await site.rolledOut("logs:2", tail);
    await until("the first revision is deleted", async () => (await site.revisions()) === 1, 10, tail);
  });

  test("a rollback to a previous image raises the number of its revision", async () => {
    await site.cluster.request("PATCH", `${sets}/logs`, { spec: { revisionHistoryLimit: 5 } }, merge);
    await site.image("logs:3");
    await site.rolledOut("logs:3", tail);
    await site.image("logs:2");
    await until("it is raised", () => has("patch controllerrevisions.apps"), 20, tail);
  });

  test("services are created, changed and deleted, and those with manual Endpoints are mirrored", async () => {
    await site.cluster.request("POST", `${core}/services`, service("web", { selector: { tier: "bench" } }));
    await until("slices", async () => (await site.list(discovery)).items.length > 0, 15);
    await site.cluster.request(
      "PATCH",
      `${core}/services/web`,
      { spec: { ports: [{ port: 80, targetPort: 81 }] } },
      merge,
    );
    await until("a patch", () => has("patch endpoints") && has("patch endpointslices.discovery.k8s.io"), 15);
    await site.cluster.request("POST", `${core}/services`, service("outside", {}));
    const subsets = [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }];
    await site.cluster.request("POST", `${core}/endpoints`, { metadata: { name: "outside" }, subsets });
    await until("a mirror", async () => (await site.list(discovery)).items.length > 1, 15);
    await site.cluster.request("DELETE", `${core}/endpoints/outside`);
    await site.cluster.request("DELETE", `${core}/services/web`);
    await until(
      "all are deleted",
      () => has("delete endpoints") && has("delete endpointslices.discovery.k8s.io"),
      15,
      tail,
    );
  });

  test("a board falls silent twice, the pods of a tainted one are evicted, a third one is deleted", async () => {
    site.silence(0);
    await until("it is Unknown", async () => (await site.ready(0)) === "Unknown", 20, tail);
    site.beat(0);
    await site.speak(0);
    await until("its taints are removed", async () => (await site.taints(0)).length === 0, 20, tail);
    const taints = [{ key: "maintenance", effect: "NoExecute" }];
    await site.cluster.request("PATCH", `/api/v1/nodes/${boardName(1)}`, { spec: { taints } }, merge);
    await until("pods are deleted", () => has("delete pods"), 15, tail);
    await site.cluster.request("DELETE", `/api/v1/nodes/${boardName(2)}`);
    await until("the deleted Node is read from the API", () => has("get nodes"), 15, tail);
    site.silence(0);
    await until("the same Event again", () => has("patch events"), 30, tail);
  });

  test("its own board is drained", async () => {
    const pod = {
      metadata: { name: "leaves" },
      spec: { nodeName: agent.board, containers: [{ name: "a", image: "a" }] },
    };
    await site.cluster.request("POST", "/api/v1/nodes", { metadata: { name: agent.board } });
    await site.cluster.request("POST", `${core}/pods`, pod);
    const answer = await order(agent, "board.drain", { timeout: 60, force: true, gracePeriod: 0 });
    expect(answer).toMatchObject({ state: "succeeded", result: { evicted: 1 } });
  });

  test("nothing was refused, and every permission was used", async () => {
    const asked = requests();
    expect(agent.status()?.health.conditions.filter(({ type }) => type === "PermissionMissing")).toEqual([]);
    const refused = site.requestsOf(agent).filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
    const unused = permitted().filter((one) => !asked.has(one));
    expect(unused.filter((one) => !rare.includes(one))).toEqual([]);
  });

  const requests = (): ReadonlySet<string> => {
    const everywhere = new Set(permitted().filter((one) => !one.includes(" in ")));
    return new Set(site.requestsOf(agent).map((one) => askedFor(one, everywhere)));
  };
  const has = (one: string): boolean => requests().has(one);
  const tail = (): string => `\n${[...requests()].sort().join("\n")}\n${agent.log().slice(-1500)}`;
});
