import { writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentProcess, until } from "../support/agent-process.ts";
import { missingAssets } from "../support/kube/kube-cluster.ts";
import { KubeSite } from "../support/kube/kube-site.ts";
import { boardName, fillBoards } from "../support/load.ts";
import { applyRbac } from "../support/rbac.ts";
import { rest } from "../support/rest.ts";

/*
 * A tenant with the rights of the built-in role `edit` in one namespace, on the API server of a site. The stories try
 * everything that such a tenant may write and a leader reads; docs/security.md has the table.
 */

const config = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "6s", startupGracePeriod: "6s", evictionRate: 5 },
  judgement: { policy: "kubernetes" },
  daemonSet: { bind: true },
};

const victim = "/api/v1/namespaces/default";
const own = "/api/v1/namespaces/tenant";
const strategic = "application/strategic-merge-patch+json";
const merge = "application/merge-patch+json";
const jsonPatch = "application/json-patch+json";

interface List {
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly uid: string;
      readonly namespace: string;
      readonly deletionTimestamp?: string;
    };
    readonly spec?: { readonly nodeName?: string };
  }[];
}

class Story extends KubeSite {
  #mallory = "";

  async tenant(): Promise<void> {
    const { cluster } = this;
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: "tenant" } });
    await cluster.request("POST", `${own}/serviceaccounts`, { metadata: { name: "mallory" } });
    // The roles that kube-controller-manager aggregates into `edit`.
    for (const role of ["edit", "view"]) {
      await cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/tenant/rolebindings", {
        metadata: { name: role },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `system:aggregate-to-${role}` },
        subjects: [{ kind: "ServiceAccount", name: "mallory", namespace: "tenant" }],
      });
    }
    const made = await cluster.request<{ status: { token: string } }>("POST", `${own}/serviceaccounts/mallory/token`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    });
    this.#mallory = made.status.token;
  }

  /** Sends a request as the tenant. */
  mallory<T>(method: string, url: string, body?: unknown, type?: string): Promise<T> {
    return this.cluster.request(method, url, body, type, this.#mallory);
  }

  async daemons(): Promise<readonly string[]> {
    const { items } = await this.cluster.request<List>("GET", `${victim}/pods?labelSelector=app%3Dlogs`);
    return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ spec }) => spec?.nodeName ?? "");
  }
}

const daemonSet = (name: string, template: object = {}): object => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "main", image: name }], ...template },
    },
  },
});

const podOf = (name: string, more: { readonly metadata?: object; readonly spec?: object } = {}): object => ({
  metadata: { name, ...more.metadata },
  spec: { containers: [{ name: "a", image: "a" }], ...more.spec },
});

const claims = { "siteward.dev/node-selector": "", "siteward.dev/namespace-selector": "" };
const asSite = { "app.kubernetes.io/managed-by": "siteward", "siteward.dev/site": "plant0" };

describe.skipIf(missingAssets())("a tenant with the rights of edit", () => {
  const site = new Story();
  let agent: AgentProcess;
  let stop = false;
  let slowest = 0;
  let watching: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    await site.start();
    await fillBoards(site.cluster, { nodes: 3, pods: 0, seed: 1 });
    site.beat(0, 1, 2);
    await site.tenant();
    // Older than the site's own Lease: the oldest claim wins.
    for (const [name, selector] of [
      ["siteward-plant0", ""],
      ["commas", ",".repeat(200_000)],
    ] as const) {
      const annotations = { ...claims, "siteward.dev/node-selector": selector };
      const lease = { metadata: { name, labels: asSite, annotations }, spec: { holderIdentity: "mallory" } };
      await site.mallory("POST", "/apis/coordination.k8s.io/v1/namespaces/tenant/leases", lease);
    }
    await rest(1.1);
    await applyRbac(site.cluster);
    const kubeconfig = path.join(site.cluster.dir, "kubeconfig-of-the-agent");
    writeFileSync(kubeconfig, site.cluster.kubeconfigFor(site.cluster.server, { token: site.cluster.agentToken }));
    agent = site.agent("pi-1", config, kubeconfig);
    await until("it leads", () => agent.isReady, 30, tail);
    await site.cluster.request("POST", "/apis/apps/v1/namespaces/default/daemonsets", daemonSet("logs"));
    await until("daemon pods", async () => (await site.daemons()).filter(Boolean).length === 3, 20, tail);
    watching = watch();
  });
  afterAll(async () => {
    stop = true;
    await watching;
    await site.stop();
  });

  const tail = (): string => agent.log().slice(-1500);

  /** The longest time that a caller waits for the agent's event loop. */
  async function watch(): Promise<void> {
    while (!stop) {
      const begun = performance.now();
      await ping(path.join(agent.dir, "run/ctl.sock")).catch(() => undefined);
      slowest = Math.max(slowest, performance.now() - begun);
      await rest(0.01);
    }
  }

  /** Checks that others are still served: a deleted daemon pod is created and bound again. */
  async function othersAreServed(within = 15): Promise<void> {
    const { items } = await site.cluster.request<List>("GET", `${victim}/pods?labelSelector=app%3Dlogs`);
    const before = items.map(({ metadata }) => metadata.uid);
    for (const { metadata } of items) {
      await site.cluster.request("DELETE", `${victim}/pods/${metadata.name}?gracePeriodSeconds=0`);
    }
    const renewed = async (): Promise<boolean> => {
      const now = await site.cluster.request<List>("GET", `${victim}/pods?labelSelector=app%3Dlogs`);
      return (
        now.items.length === 3 && now.items.every((pod) => pod.spec?.nodeName && !before.includes(pod.metadata.uid))
      );
    };
    await until("each board has its daemon pod again", renewed, within, tail);
    expect((await site.daemons()).toSorted()).toEqual([0, 1, 2].map(boardName));
  }

  test.each<[what: string, method: string, url: string, body?: object, type?: string]>([
    ["taint a board", "PATCH", `/api/v1/nodes/${boardName(0)}`, { spec: { unschedulable: true } }, merge],
    [
      "stop a board's heartbeat",
      "DELETE",
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${boardName(0)}`,
    ],
    [
      "write the site's Lease",
      "PATCH",
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default",
      {},
      merge,
    ],
    ["read the site's Lease", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-default"],
    ["report its pod as ready", "PATCH", `${own}/pods/x/status`, {}, merge],
    ["bind a pod", "POST", `${own}/pods/x/binding`, { target: { kind: "Node", name: boardName(0) } }],
    ["write Endpoints", "POST", `${own}/endpoints`, { metadata: { name: "x" } }],
    [
      "write EndpointSlices",
      "POST",
      "/apis/discovery.k8s.io/v1/namespaces/tenant/endpointslices",
      { metadata: { name: "x" } },
    ],
    [
      "write revisions",
      "POST",
      "/apis/apps/v1/namespaces/tenant/controllerrevisions",
      { metadata: { name: "x" }, revision: 1 },
    ],
    ["label its namespace", "PATCH", "/api/v1/namespaces/tenant", { metadata: { labels: { a: "b" } } }, merge],
    ["read pods of others", "GET", `${victim}/pods`],
  ])("may not %s", async (_, method, url, body, type) => {
    await expect(site.mallory(method, url, body, type)).rejects.toThrow(/: 403 /);
  });

  test("cannot claim a board with a Lease in its namespace, even if it is the oldest, and a selector of commas is ignored", async () => {
    expect(agent.status()?.health.conditions.filter(({ type }) => /Selection|Sites/.test(type))).toEqual([]);
    const read = site.requestsOf(agent).filter(({ objectRef }) => objectRef?.resource === "leases");
    expect(
      read.filter(({ objectRef }) => ![undefined, "kube-system", "kube-node-lease"].includes(objectRef?.namespace)),
    ).toEqual([]);
    expect(read.filter(({ objectRef }) => objectRef?.namespace === undefined)).toEqual([]);
    await othersAreServed();
  });

  test("cannot take a board from another tenant's DaemonSet with pods that name it as their owner", async () => {
    const { items } = await site.cluster.request<List>("GET", "/apis/apps/v1/namespaces/default/daemonsets");
    const uid = items[0]?.metadata.uid ?? "";
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "logs", uid, controller: true };
    for (const board of [0, 1, 2]) {
      const metadata = { labels: { app: "logs" }, ownerReferences: [owner], finalizers: ["tenant.example/never"] };
      await site.mallory(
        "POST",
        `${own}/pods`,
        podOf(`planted-${board}`, { metadata, spec: { nodeName: boardName(board) } }),
      );
    }
    await rest(1);
    await othersAreServed();
    const touched = site.writesOf(agent).filter(({ objectRef }) => objectRef?.name?.startsWith("planted-"));
    expect(touched.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  });

  test("cannot influence anything through annotations, labels, owners and tolerations of its pods", async () => {
    const annotations = {
      "siteward.dev/holds": JSON.stringify({ freezes: { site: { until: 9e15 } } }),
      "siteward.dev/out-of-service": "{}",
      "siteward.dev/standby": "ready",
      "siteward.dev/budget": "{}",
      ...Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`tenant.example/${i}`, "x"])),
    };
    const labels = { constructor: "x", toString: "x", hasOwnProperty: "x", valueOf: "x", app: "logs" };
    const node = { apiVersion: "v1", kind: "Node", name: boardName(0), uid: "0", controller: true };
    const tolerations = [-9e15, -1, 0, 9e15].map((tolerationSeconds) => ({
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds,
    }));
    const more = Array.from({ length: 3000 }, (_, i) => ({
      key: `k-${i}`,
      operator: "Exists",
      tolerationSeconds: i,
      effect: "NoExecute",
    }));
    const spec = { tolerations: [...tolerations, ...more], nodeName: boardName(1) };
    await site.mallory(
      "POST",
      `${own}/pods`,
      podOf("odd", { metadata: { annotations, labels, ownerReferences: [node] }, spec }),
    );
    await site.mallory("POST", `${own}/services`, {
      metadata: { name: "constructor", annotations: { "siteward.dev/holds": "x" } },
      spec: { selector: { constructor: "x" }, ports: [{ port: 80 }] },
    });
    await rest(2);
    expect(agent.status()?.health.conditions.filter(({ type }) => /Frozen|Paused/.test(type))).toEqual([]);
    await othersAreServed();
  });

  test("cannot cause much work with objects as large as the API server accepts", async () => {
    const many = (count: number, make: (i: number) => object): object =>
      Object.assign({}, ...Array.from({ length: count }, (_, i) => make(i)));
    const labels = many(1000, (i) => ({ [`l-${i}`]: "v" }));
    const lines: string[] = [];
    /** CPU time is the cost of a step; the waiting time of callers depends on the load of this machine. */
    const costOf = async (what: string, step: () => Promise<unknown>): Promise<number> => {
      slowest = 0;
      const before = agent.cpu();
      await step();
      await rest(2);
      const cost = agent.cpu() - before;
      lines.push(`${what}: ${cost} ms of CPU, slowest answer ${Math.round(slowest)} ms`);
      return cost;
    };
    const idle = await costOf("nothing", async () => undefined);
    const costs = [
      await costOf("three pods of 1000 labels", async () => {
        for (const name of ["wide-1", "wide-2", "wide-3"]) {
          const pod = podOf(name, { metadata: { labels }, spec: { nodeName: boardName(0) } });
          await site.mallory("POST", `${own}/pods`, pod);
        }
      }),
      await costOf("a selector of 1000 labels", () => {
        const spec = { selector: labels, ports: [{ port: 80 }] };
        return site.mallory("POST", `${own}/services`, { metadata: { name: "wide" }, spec });
      }),
      await costOf("a service of 7000 ports", () => {
        const ports = Array.from({ length: 7000 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
        const spec = { clusterIP: "None", selector: { app: "logs" }, ports };
        return site.mallory("POST", `${own}/services`, { metadata: { name: "ports" }, spec });
      }),
      await costOf("a DaemonSet of 5000 terms", () => {
        const nodeSelectorTerms = Array.from({ length: 5000 }, (_, i) => ({
          matchExpressions: [{ key: "a", operator: "In", values: [`v-${i}`] }],
        }));
        const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
        const sets = "/apis/apps/v1/namespaces/tenant/daemonsets";
        return site.mallory("POST", sets, daemonSet("wide", { affinity }));
      }),
    ];
    console.log(lines.join("\n"));
    for (const cost of costs) expect(cost - idle).toBeLessThan(3000);
    await othersAreServed();
  });

  const emptyOnes = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at.toString(36)}`, ""]));
  const sets = "/apis/apps/v1/namespaces/tenant/daemonsets";
  const slices = "/apis/discovery.k8s.io/v1/namespaces/tenant/endpointslices";

  test("cannot keep a deleted object in service by making it large first", async () => {
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const serving = async (ip: string): Promise<boolean> =>
      JSON.stringify(await site.cluster.request("GET", slices)).includes(`"${ip}"`) ||
      JSON.stringify(await site.cluster.request("GET", `${own}/endpoints`)).includes(`"${ip}"`);
    await site.mallory("POST", `${own}/services`, {
      metadata: { name: "ghost" },
      spec: { selector: { app: "ghost" }, ports: [{ port: 80 }] },
    });
    const tolerations = Array.from({ length: 16_000 }, (_, at) => ({
      key: `k${at}`,
      operator: "Exists",
      effect: "NoSchedule",
    }));
    for (const [name, ip, patch, type] of [
      ["ghost-1", "10.9.9.1", { metadata: { annotations: emptyOnes(20_000) } }, merge],
      ["ghost-2", "10.9.9.2", [{ op: "add", path: "/spec/tolerations", value: tolerations }], jsonPatch],
    ] as const) {
      const more = { metadata: { labels: { app: "ghost" } }, spec: { nodeName: boardName(1) } };
      await site.mallory("POST", `${own}/pods`, podOf(name, more));
      const conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
      const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
      await site.cluster.request("PATCH", `${own}/pods/${name}/status`, { status }, merge);
      await until(`${name} serves`, () => serving(ip), 20, tail);
      await site.mallory("PATCH", `${own}/pods/${name}`, patch, type);
      // Annotations are not read. A pod that became unreadable no longer counts as ready.
      if (name === "ghost-2") await until(`${name} is not ready`, async () => !(await serving(ip)), 20, tail);
      await site.mallory("DELETE", `${own}/pods/${name}?gracePeriodSeconds=0`);
      await until(`${name} is gone`, async () => !(await serving(ip)), 20, tail);
    }
    const pods = async (): Promise<List> => site.cluster.request("GET", `${own}/pods?labelSelector=app%3Dzombie`);
    await site.mallory("POST", sets, daemonSet("zombie"));
    await until("its pods", async () => (await pods()).items.length === 3, 20, tail);
    await site.mallory("PATCH", `${sets}/zombie`, { metadata: { annotations: emptyOnes(20_000) } }, merge);
    await site.mallory("DELETE", `${sets}/zombie?propagationPolicy=Background`);
    await rest(1);
    for (const { metadata } of (await pods()).items) {
      await site.cluster.request("DELETE", `${own}/pods/${metadata.name}?gracePeriodSeconds=0`);
    }
    await rest(5);
    expect((await pods()).items).toEqual([]);
  });

  test("cannot cause repeated creation of an object by using up its label limit", async () => {
    const labels = Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`l${at}`, "v"]));
    const template = {
      metadata: { labels: { ...labels, app: "full" } },
      spec: { containers: [{ name: "main", image: "full" }] },
    };
    await site.mallory("POST", `${own}/services`, {
      metadata: { name: "full", labels: { ...labels, last: "v" } },
      spec: { selector: { app: "odd" }, ports: [{ port: 80 }] },
    });
    await site.mallory("POST", sets, {
      metadata: { name: "full" },
      spec: { selector: { matchLabels: { app: "full" } }, template },
    });
    const count = async (url: string, label: string): Promise<number> =>
      (await site.cluster.request<List>("GET", `${url}?labelSelector=${label}`)).items.length;
    await until("daemon pods", async () => (await count(`${own}/pods`, "app%3Dfull")) === 3, 20, tail);
    await rest(10);
    expect(await count(`${own}/pods`, "app%3Dfull")).toBe(3);
    expect(await count(slices, "kubernetes.io/service-name%3Dfull")).toBe(1);
  });

  test("cannot delay the judgement of any board with a storm of its own objects", async () => {
    let isOver = false;
    const storm = (async () => {
      for (let i = 0; !isOver; i++) {
        const spec = { selector: { app: `a-${i % 7}` }, ports: [{ port: 80 + (i % 100) }] };
        await site
          .mallory("POST", `${own}/services`, { metadata: { name: `storm-${i}` }, spec })
          .catch(() => undefined);
        await site
          .mallory("PATCH", `${own}/pods/planted-0`, { metadata: { labels: { app: `a-${i % 7}` } } }, merge)
          .catch(() => undefined);
      }
    })();
    await rest(3);
    const begun = performance.now();
    site.silence(2);
    await until(
      "the silent board is tainted",
      async () => (await site.taints(2)).includes("unreachable:NoExecute"),
      30,
      tail,
    );
    console.log(
      `tainted after ${((performance.now() - begun) / 1000).toFixed(1)} s of silence, of which 6 s are grace`,
    );
    isOver = true;
    await storm;
    site.beat(2);
    const times = { lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z/, "Z") };
    const conditions = [{ type: "Ready", status: "True", reason: "Back", message: "back", ...times }];
    await site.cluster.request("PATCH", `/api/v1/nodes/${boardName(2)}/status`, { status: { conditions } }, strategic);
    await until("it is back", async () => (await site.taints(2)).length === 0, 60, tail);
  });

  test("cannot learn anything about others from Events in its namespace", async () => {
    const { items } = await site.mallory<{
      items: readonly { involvedObject: { namespace?: string }; message: string }[];
    }>("GET", `${own}/events`);
    expect(items.filter(({ involvedObject }) => involvedObject.namespace !== "tenant")).toEqual([]);
    expect(items.filter(({ message }) => /default\//.test(message))).toEqual([]);
  });

  test("cannot make the leader lose its Lease", () => {
    expect(agent.isReady).toBe(true);
    expect(agent.log()).not.toMatch(/term ended/);
  });
});

function ping(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path: "/v1/livez", agent: false }, (response) => {
      response.resume().once("end", () => resolve());
    });
    call.on("error", reject).end();
  });
}
