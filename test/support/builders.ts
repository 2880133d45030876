import type { Lease, Node, NodeCondition, Pod, PodCondition, Taint, Toleration } from "../../agent/api/core.ts";

/** Builders for objects: the caller supplies the relevant members, and all others have typical values. */

export interface NodeOptions {
  readonly uid?: string;
  readonly version?: string;
  readonly created?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly zone?: string;
  /** Status by condition type; "-" omits the condition. Ready is True by default. */
  readonly conditions?: Readonly<Record<string, string>>;
  readonly heartbeat?: string;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
}

export const condition = (type: string, status: string, more: Partial<NodeCondition> = {}): NodeCondition => ({
  type,
  status,
  lastHeartbeatTime: "2026-01-01T00:00:00Z",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  ...more,
});

export function node(name: string, options: NodeOptions = {}): Node {
  const { uid = `uid-${name}`, version = "1", created = "2025-12-31T00:00:00Z", zone, heartbeat } = options;
  const conditions = Object.entries({ Ready: "True", ...options.conditions })
    .filter(([, status]) => status !== "-")
    .map(([type, status]) => condition(type, status, heartbeat === undefined ? {} : { lastHeartbeatTime: heartbeat }));
  const labels = { ...(zone !== undefined && { "topology.kubernetes.io/zone": zone }), ...options.labels };
  return {
    metadata: { name, uid, resourceVersion: version, creationTimestamp: created, labels },
    spec: {
      ...(options.taints && { taints: options.taints }),
      ...(options.unschedulable !== undefined && { unschedulable: options.unschedulable }),
    },
    status: { conditions },
  };
}

/** In its cached form, without a spec. */
export const lease = (name: string, version = "1", namespace = "kube-node-lease"): Lease => ({
  metadata: { name, namespace, uid: `uid-lease-${name}`, resourceVersion: version },
});

export interface PodOptions {
  readonly uid?: string;
  readonly version?: string;
  readonly namespace?: string;
  readonly on?: string;
  readonly tolerations?: readonly Toleration[];
  readonly conditions?: readonly PodCondition[];
  readonly deletionTimestamp?: string;
  readonly generation?: number;
  /** The kind of its controller, of group apps; by default it has none. */
  readonly owner?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** The names of its persistent volume claims. */
  readonly claims?: readonly string[];
}

/** A pod that runs and is ready. */
export function pod(name: string, options: PodOptions = {}): Pod {
  const { uid = `uid-${name}`, version = "1", namespace = "default", on, deletionTimestamp, generation } = options;
  const { owner, annotations, nodeSelector, claims } = options;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: version,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(generation !== undefined && { generation }),
      ...(owner !== undefined && {
        ownerReferences: [{ apiVersion: "apps/v1", kind: owner, name: "web", uid: "uid-web", controller: true }],
      }),
      ...(annotations && { annotations }),
    },
    spec: {
      containers: [],
      ...(nodeSelector && { nodeSelector }),
      ...(claims && {
        volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      }),
      ...(on !== undefined && { nodeName: on }),
      ...(options.tolerations && { tolerations: options.tolerations }),
    },
    status: { phase: "Running", conditions: options.conditions ?? [{ type: "Ready", status: "True" }] },
  };
}

/** "unreachable:NoExecute" or "maintenance=disk:NoExecute": known Kubernetes keys without a slash get their prefix. */
export function taint(text: string, timeAdded?: string): Taint {
  const [, name = "", value, effect = ""] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  const known = ["not-ready", "unreachable", "unschedulable", "memory-pressure", "disk-pressure", "pid-pressure"];
  const key = known.includes(name) || name === "network-unavailable" ? `node.kubernetes.io/${name}` : name;
  return { key, effect, ...(value !== undefined && { value }), ...(timeAdded !== undefined && { timeAdded }) };
}

/** The inverse, for expectations. */
export const shown = ({ key, value, effect }: Taint): string =>
  `${key.replace("node.kubernetes.io/", "")}${value === undefined ? "" : `=${value}`}:${effect}`;

/** Tolerates a NoExecute taint with that key for a number of seconds, or without limit. */
export const toleration = (key: string, seconds?: number): Toleration => ({
  key: taint(`${key}:NoExecute`).key,
  operator: "Exists",
  effect: "NoExecute",
  ...(seconds !== undefined && { tolerationSeconds: seconds }),
});
