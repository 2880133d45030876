import { SeededChance } from "./load-chance.ts";

/** A server to put under load: any Kubernetes API, as one function. */
export interface Server {
  request<T>(method: string, url: string, body?: unknown, type?: string): Promise<T>;
}

export interface LoadSize {
  readonly nodes: number;
  readonly pods: number;
  readonly seed: number;
}

/**
 * Fills a server with boards and running pods of about 11 KB each on the wire, the same for the same seed. Each app has
 * one pod on each board. All pods of an app are made from one template and differ in names, addresses and times.
 */
export async function fill(server: Server, size: LoadSize): Promise<void> {
  await fillBoards(server, size);
  await fillPods(server, size);
}

export async function fillBoards(server: Server, { nodes }: LoadSize): Promise<void> {
  await eachOf(nodes, async (i) => {
    await server.request("POST", "/api/v1/nodes", node(i));
    await server.request("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease(i));
  });
}

/** The pods after the first `from`, which already exist. */
export async function fillPods(server: Server, { nodes, pods, seed }: LoadSize, from = 0): Promise<void> {
  await eachOf(pods - from, async (offset) => {
    const i = from + offset;
    const name = podName(i);
    const app = Math.floor(i / nodes);
    const template = templateOf(app, new SeededChance(seed * 10_007 + app));
    const made = {
      ...template,
      metadata: { ...template.metadata, name, labels: { ...template.metadata.labels, share: shareName(i) } },
      spec: { ...template.spec, nodeName: boardName(i % nodes) },
    };
    await server.request("POST", "/api/v1/namespaces/default/pods", made);
    await server.request("PATCH", `/api/v1/namespaces/default/pods/${name}/status`, podStatus(i), merge);
  });
}

/** Number of groups of pods. Each service selects one group, which is one pod in this many. */
export const shares = 300;
const shareName = (i: number): string => `share-${i % shares}`;

/** Up to `shares` services with one named port each; no pod is in two of them. */
export const fillServices = (server: Server, services: number): Promise<void> =>
  eachOf(services, async (i) => {
    await server.request("POST", "/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `service-${i}`, namespace: "default" },
      spec: { selector: { share: shareName(i) }, ports: [{ name: "http", port: 80, targetPort: "http" }] },
    });
  });

export const renew = (server: Server, i: number): Promise<unknown> =>
  server.request(
    "PATCH",
    `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${boardName(i)}`,
    { spec: { renewTime: micros() } },
    merge,
  );

/** One status change of one pod, as sent during a rollout or by a restarting container. */
export const touch = (server: Server, i: number, mark: string): Promise<unknown> =>
  server.request("PATCH", `/api/v1/namespaces/default/pods/${podName(i)}/status`, { status: { message: mark } }, merge);

/** A board's kubelet reports that it is ready, as after a start, and renews its Lease. */
export async function report(server: Server, i: number): Promise<void> {
  const now = seconds();
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "", lastHeartbeatTime: now };
  const conditions = [{ ...ready, lastTransitionTime: now }];
  const at = `/api/v1/nodes/${boardName(i)}/status`;
  await server.request("PATCH", at, { status: { conditions } }, "application/strategic-merge-patch+json");
  await renew(server, i);
}

export const boardName = (i: number): string => `board-${String(i).padStart(4, "0")}`;
export const podName = (i: number): string => `app-${String(i).padStart(6, "0")}`;

const merge = "application/merge-patch+json";
const micros = (): string => new Date().toISOString().replace("Z", "000Z");
const seconds = (): string => new Date().toISOString().replace(/\.\d+Z/, "Z");

function node(i: number): object {
  const now = seconds();
  const condition = (type: string, status: string): object => ({
    type,
    status,
    reason: "Bench",
    message: "as it should be",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: boardName(i),
      labels: {
        "kubernetes.io/hostname": boardName(i),
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "topology.kubernetes.io/zone": `zone-${i % 2}`,
      },
    },
    status: {
      capacity: { cpu: "4", memory: "4Gi", pods: "500" },
      allocatable: { cpu: "4", memory: "4Gi", pods: "500" },
      conditions: [
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("PIDPressure", "False"),
        condition("Ready", "True"),
      ],
    },
  };
}

function lease(i: number): object {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: boardName(i), namespace: "kube-node-lease" },
    spec: { holderIdentity: boardName(i), leaseDurationSeconds: 40, renewTime: micros() },
  };
}

function templateOf(app: number, chance: SeededChance) {
  const env = Array.from({ length: 44 }, (_, i) => ({ name: `SETTING_${i}`, value: chance.text(60) }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "default",
      labels: { app: `app-${app}`, tier: "bench", release: chance.text(12) },
      annotations: { "bench/config-hash": chance.text(64) },
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image: `example/app:${chance.below(9)}`,
          env,
          ports: [{ name: "http", containerPort: 8080 }],
          resources: { requests: { cpu: "5m", memory: "16Mi" } },
        },
      ],
    },
  };
}

function podStatus(i: number): object {
  const now = seconds();
  const condition = (type: string): object => ({ type, status: "True", lastTransitionTime: now });
  const ip = `10.${64 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  return {
    status: {
      phase: "Running",
      startTime: now,
      podIP: ip,
      podIPs: [{ ip }],
      conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition),
      containerStatuses: [
        {
          name: "main",
          image: "example/app:1",
          imageID: `example/app@sha256:${"0".repeat(64)}`,
          ready: true,
          restartCount: 0,
          started: true,
          state: { running: { startedAt: now } },
        },
      ],
    },
  };
}

/** Sixteen at a time: more would only queue up in the server. */
async function eachOf(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) await work(i);
  };
  await Promise.all(Array.from({ length: Math.min(16, count) }, worker));
}
