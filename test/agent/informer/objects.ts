import type { Lease, Node, Pod } from "../../../agent/api/core.ts";

let made = 0;
const uid = (): string => `uid-${++made}`;

export const pod = (
  name: string,
  more: { node?: string; phase?: string; labels?: Record<string, string> } = {},
): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", uid: uid(), resourceVersion: "0", labels: more.labels ?? {} },
  spec: { containers: [{ name: "main", image: "nginx" }], ...(more.node === undefined ? {} : { nodeName: more.node }) },
  status: { phase: more.phase ?? "Running" },
});

export const node = (name: string, more: { labels?: Record<string, string>; heartbeat?: string } = {}): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: "0", labels: more.labels ?? {} },
  spec: {},
  status: {
    conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: more.heartbeat ?? "2026-01-01T00:00:00Z" }],
    images: [{ names: ["nginx"] }],
  },
});

export const lease = (board: string, renewTime = "2026-01-01T00:00:00.000000Z"): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: board, namespace: "kube-node-lease", uid: `lease-of-${board}`, resourceVersion: "0" },
  spec: { holderIdentity: board, renewTime },
});
