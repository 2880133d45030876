import type { SeededRandom } from "../support/seeded-random.ts";

/** Objects in the form of an API server, with all members that the agent reads, by the plural of their kind. */
export const exampleOf: Readonly<Record<string, (random: SeededRandom) => object>> = {
  pods: (random) => ({
    kind: "Pod",
    apiVersion: "v1",
    metadata: {
      ...metadata(random),
      namespace: "shop",
      ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "d-1", controller: true }],
      ...(random.next() < 0.3 && { deletionTimestamp: time, deletionGracePeriodSeconds: 30 }),
    },
    spec: {
      nodeName: `pi-${random.integer(5)}`,
      hostname: "web",
      nodeSelector: { disk: "ssd" },
      tolerations: [
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { operator: "Exists" },
      ],
      containers: [
        {
          name: "c",
          resources: { requests: { cpu: "250m", memory: "1.5Gi" } },
          ports: [{ name: "web", containerPort: 80 }],
        },
      ],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [terms] } } },
    },
    status: {
      phase: random.next() < 0.7 ? "Running" : "Failed",
      podIP: "10.1.0.7",
      podIPs: [{ ip: "10.1.0.7" }, { ip: "fd00::7" }],
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: time }],
      containerStatuses: [{ name: "c", ready: true, restartCount: 1, state: { running: { startedAt: time } } }],
    },
  }),
  nodes: (random) => ({
    kind: "Node",
    apiVersion: "v1",
    metadata: { ...metadata(random), labels: { "topology.kubernetes.io/zone": `z${random.integer(3)}`, disk: "ssd" } },
    spec: {
      taints: [{ key: "k", value: "v", effect: "NoExecute", timeAdded: time }],
      unschedulable: false,
      providerID: "x://y",
    },
    status: {
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          message: "ok",
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
      ],
      addresses: [{ type: "InternalIP", address: "10.0.0.3" }],
      allocatable: { cpu: "4", memory: "8039Mi", pods: "110" },
      nodeInfo: { kubeletVersion: "v1.36.3", bootID: "b" },
    },
  }),
  leases: (random) => ({
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    metadata: {
      ...metadata(random),
      namespace: "kube-node-lease",
      annotations: { "siteward.dev/node-selector": "site=a" },
    },
    spec: {
      holderIdentity: "pi-1_x",
      leaseDurationSeconds: 40,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 3,
    },
  }),
  daemonsets: (random) => ({
    kind: "DaemonSet",
    apiVersion: "apps/v1",
    metadata: { ...metadata(random), namespace: "shop", generation: 3 },
    spec: {
      selector: {
        matchLabels: { app: "agent" },
        matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }],
      },
      template: {
        metadata: { labels: { app: "agent", tier: "a" } },
        spec: { containers: [{ name: "c", image: "i:1" }], tolerations: [] },
      },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "30%", maxSurge: 0 } },
      revisionHistoryLimit: 5,
      minReadySeconds: 10,
    },
    status: { observedGeneration: 3, desiredNumberScheduled: 3, collisionCount: 0 },
  }),
  controllerrevisions: (random) => ({
    kind: "ControllerRevision",
    apiVersion: "apps/v1",
    metadata: { ...metadata(random), namespace: "shop" },
    data: { spec: { template: { $patch: "replace", spec: { containers: [{ name: "c" }] } } } },
    revision: 4,
  }),
  services: (random) => ({
    kind: "Service",
    apiVersion: "v1",
    metadata: { ...metadata(random), namespace: "shop" },
    spec: {
      selector: { app: "web" },
      ports: [
        { name: "http", port: 80, targetPort: "web", protocol: "TCP" },
        { port: 443, targetPort: 8443 },
      ],
      clusterIP: "10.96.0.9",
      clusterIPs: ["10.96.0.9"],
      ipFamilies: ["IPv4"],
      type: "ClusterIP",
      publishNotReadyAddresses: random.next() < 0.5,
    },
  }),
  endpoints: (random) => ({
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: { ...metadata(random), namespace: "shop" },
    subsets: [
      {
        addresses: [
          { ip: "10.1.0.7", nodeName: "pi-1", targetRef: { kind: "Pod", name: "web", namespace: "shop", uid: "u" } },
        ],
        notReadyAddresses: [{ ip: "10.1.0.8" }],
        ports: [{ name: "http", port: 80, protocol: "TCP" }],
      },
    ],
  }),
  endpointslices: (random) => ({
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: { ...metadata(random), namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [
      {
        addresses: ["10.1.0.7"],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: "Pod", name: "web", namespace: "shop", uid: "u" },
        nodeName: "pi-1",
        zone: "z1",
        hints: { forZones: [{ name: "z1" }] },
      },
    ],
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
  }),
  namespaces: (random) => ({
    kind: "Namespace",
    apiVersion: "v1",
    metadata: metadata(random),
    status: { phase: "Active" },
  }),
};

const time = "2026-11-20T12:00:00Z";

const terms = {
  matchExpressions: [{ key: "disk", operator: "In", values: ["ssd", "nvme"] }],
  matchFields: [{ key: "metadata.name", operator: "In", values: ["pi-1"] }],
};

function metadata(random: SeededRandom) {
  const name = `o-${random.integer(50)}`;
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: `${1 + random.integer(5000)}`,
    generation: 1,
    creationTimestamp: time,
    labels: { app: "web", tier: "a" },
    annotations: { note: "x".repeat(random.integer(80)) },
    finalizers: ["example.org/keep"],
    managedFields: [
      { manager: "kubelet", operation: "Update", time, fieldsType: "FieldsV1", fieldsV1: { "f:status": {} } },
    ],
  };
}
