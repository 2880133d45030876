import { expect, test } from "vitest";
import type { Node, Pod, Service } from "../../../../agent/api/core.ts";
import {
  trimAny,
  trimDaemonSet,
  trimLease,
  trimNode,
  trimPod,
  trimService,
} from "../../../../agent/informer/kinds/trim.ts";
import { lease } from "../objects.ts";

const metadata = {
  name: "web",
  namespace: "default",
  uid: "1",
  resourceVersion: "7",
  generation: 3,
  creationTimestamp: "2026-01-01T00:00:00Z",
  deletionTimestamp: "2026-01-02T00:00:00Z",
  deletionGracePeriodSeconds: 30,
  labels: { app: "web" },
  finalizers: ["example.org/keep"],
  ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "web", uid: "9", controller: true }],
};

const bulky = {
  ...metadata,
  selfLink: "/api/v1/…",
  managedFields: [{ manager: "kubelet", operation: "Update" }],
  annotations: {
    "siteward.dev/vouched-by": "pi-1@4",
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    note: "x",
  },
};

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: bulky,
  spec: {
    nodeName: "pi-3",
    hostNetwork: false,
    hostname: "web-0",
    subdomain: "web",
    restartPolicy: "Always",
    serviceAccountName: "default",
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 }],
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
      podAffinity: {},
    },
    volumes: [{ name: "data" }],
    initContainers: [
      { name: "prepare", image: "busybox" },
      { name: "unpack", image: "busybox", resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } },
      { name: "proxy", image: "proxy", restartPolicy: "Always", ports: [{ name: "admin", containerPort: 9901 }] },
    ],
    containers: [
      {
        name: "main",
        image: "nginx",
        env: [{ name: "A", value: "b" }],
        ports: [{ name: "http", containerPort: 80 }],
        resources: { requests: { cpu: "100m", memory: "16Mi" }, limits: { cpu: "1" } },
      },
      { name: "bounded", image: "nginx", resources: { limits: { cpu: "1" } } },
    ],
    overhead: { cpu: "10m" },
    resources: { requests: { cpu: "200m" }, limits: { cpu: "1" } },
    schedulingGates: [{ name: "wait" }],
  },
  status: {
    phase: "Running",
    reason: "NodeLost",
    conditions: [{ type: "Ready", status: "True" }],
    podIP: "10.0.0.7",
    podIPs: [{ ip: "10.0.0.7" }],
    containerStatuses: [{ name: "main", image: "nginx", imageID: "sha256:…", ready: true, restartCount: 4 }],
  },
};

test("a pod keeps its place, requests, tolerations and status", () => {
  expect(trimPod(pod)).toEqual({
    metadata,
    spec: {
      nodeName: "pi-3",
      hostNetwork: false,
      hostname: "web-0",
      subdomain: "web",
      restartPolicy: "Always",
      nodeSelector: { disk: "ssd" },
      tolerations: pod.spec?.tolerations,
      affinity: { nodeAffinity: pod.spec?.affinity?.nodeAffinity },
      containers: [
        {
          name: "main",
          ports: [{ name: "http", containerPort: 80 }],
          resources: { requests: { cpu: "100m", memory: "16Mi" } },
        },
        { name: "bounded" },
      ],
      overhead: { cpu: "10m" },
      resources: { requests: { cpu: "200m" } },
      schedulingGates: [{ name: "wait" }],
      initContainers: [
        { name: "unpack", resources: { requests: { cpu: "1" } } },
        { name: "proxy", restartPolicy: "Always", ports: [{ name: "admin", containerPort: 9901 }] },
      ],
    },
    status: {
      phase: "Running",
      reason: "NodeLost",
      conditions: [{ type: "Ready", status: "True" }],
      podIP: "10.0.0.7",
      podIPs: [{ ip: "10.0.0.7" }],
    },
  });
});

test("a Node keeps taints, conditions, addresses, allocatable resources and its boot, not its images", () => {
  const node: Node = {
    metadata: { ...bulky, name: "pi-3" },
    spec: { podCIDR: "10.1.0.0/24", unschedulable: true, taints: [{ key: "a", effect: "NoSchedule" }] },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "192.0.2.3" }],
      allocatable: { cpu: "4" },
      capacity: { cpu: "4" },
      images: [{ names: ["nginx"] }],
      nodeInfo: { bootID: "b-1", kernelVersion: "6.12", machineID: "m" },
    },
  };
  expect(trimNode(node)).toEqual({
    metadata: { ...metadata, name: "pi-3", annotations: { "siteward.dev/vouched-by": "pi-1@4" } },
    spec: { unschedulable: true, taints: [{ key: "a", effect: "NoSchedule" }] },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "192.0.2.3" }],
      allocatable: { cpu: "4" },
      nodeInfo: { bootID: "b-1" },
    },
  });
});

test("only the metadata of a lease is kept", () => {
  expect(Object.keys(trimLease(lease("pi-3")))).toEqual(["metadata"]);
});

test("other kinds lose only the bookkeeping of servers and tools", () => {
  const service = { apiVersion: "v1", kind: "Service", metadata: bulky, spec: { type: "ClusterIP" } };
  expect(trimAny(service)).toEqual({
    metadata: { ...metadata, annotations: { "siteward.dev/vouched-by": "pi-1@4", note: "x" } },
    spec: { type: "ClusterIP" },
  });
});

test("a DaemonSet keeps all its annotations, since its revisions carry them", () => {
  const template = { spec: { containers: [{ name: "main", env: [{ name: "A", value: "b" }] }] } };
  const spec = { selector: {}, template };
  expect(trimDaemonSet({ apiVersion: "apps/v1", kind: "DaemonSet", metadata: bulky, spec })).toEqual({
    metadata: { ...metadata, annotations: bulky.annotations },
    spec,
  });
});

test("trimming twice changes nothing more, and an empty object is accepted", () => {
  expect(trimPod(trimPod(pod))).toEqual(trimPod(pod));
  const bare = { metadata: { name: "web", uid: "1", resourceVersion: "7" } };
  expect(trimPod(bare)).toEqual({ ...bare, spec: { containers: [] }, status: {} });
  expect(trimNode(bare)).toEqual({ ...bare, spec: {}, status: {} });
});

test("only the string that no API server checks is dropped from a service", () => {
  const spec = { selector: { app: "web" }, ports: [{ port: 80 }], clusterIP: "10.0.0.1", type: "LoadBalancer" };
  const service: Service = { metadata, spec: { ...spec, loadBalancerIP: "x".repeat(1000) } };
  expect(trimService(service)).toEqual({ metadata, spec });
});

test("the annotations of a pod are not even listed, because a tenant may write tens of thousands", () => {
  const ownKeys = (): never => {
    throw new Error("the annotations were listed");
  };
  expect(trimPod({ ...pod, metadata: { ...metadata, annotations: new Proxy({}, { ownKeys }) } })).toEqual(trimPod(pod));
});
