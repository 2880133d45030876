import type { Lease, Node, NodeCondition } from "../../agent/api/core.ts";
import type { NewObject } from "../../agent/api/meta.ts";
import { microTimestamp, timestamp } from "../../agent/api/timestamps.ts";
import type { Instant, Millis } from "../../agent/base/clock.ts";

/** A simulated board: its fixed properties. */
export interface BoardPlate {
  readonly name: string;
  readonly zone: string;
  /** A number from 1 to 250 that no other board has: the board's addresses derive from it. */
  readonly number: number;
}

export const zoneLabel = "topology.kubernetes.io/zone";

/** Addresses for documentation (RFC 5737), which are shown but not reachable. */
export const boardAddress = ({ number }: BoardPlate): string => `192.0.2.${number}`;
export const podNetwork = ({ number }: BoardPlate): string => `10.244.${number}`;

/** A healthy board's conditions, in the order in which a kubelet lists them. */
const healthy: readonly NodeCondition[] = [
  { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory", message: "enough memory is free" },
  { type: "DiskPressure", status: "False", reason: "KubeletHasNoDiskPressure", message: "enough disk is free" },
  { type: "PIDPressure", status: "False", reason: "KubeletHasSufficientPID", message: "enough process ids are free" },
  { type: "Ready", status: "True", reason: "KubeletReady", message: "the simulated kubelet is ready" },
];

/** The Node as the kubelet registers it. It has its status from the start, so that no reader sees it without one. */
export function newNode(board: BoardPlate, bootId: string, now: Instant): NewObject {
  const object = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: board.name,
      labels: {
        "kubernetes.io/hostname": board.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        [zoneLabel]: board.zone,
      },
    },
    spec: { podCIDR: `${podNetwork(board)}.0/24`, podCIDRs: [`${podNetwork(board)}.0/24`] },
    status: nodeStatus(board, undefined, bootId, now),
  };
  return object;
}

/**
 * A complete status as a strategic merge patch. A condition keeps its transition time while its status is unchanged.
 */
export function nodeStatus(board: BoardPlate, seen: Node | undefined, bootId: string, now: Instant): object {
  const room = { cpu: "4", memory: "4Gi", "ephemeral-storage": "32Gi", pods: "110" };
  const known = new Map(seen?.status?.conditions?.map((condition) => [condition.type, condition]));
  return {
    capacity: room,
    allocatable: room,
    addresses: [
      { type: "InternalIP", address: boardAddress(board) },
      { type: "Hostname", address: board.name },
    ],
    conditions: healthy.map((condition) => {
      const before = known.get(condition.type);
      const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
      return { ...condition, lastHeartbeatTime: timestamp(now), lastTransitionTime: since ?? timestamp(now) };
    }),
    nodeInfo: {
      architecture: "arm64",
      operatingSystem: "linux",
      osImage: "simulated board",
      kernelVersion: "6.12.0-simulated",
      containerRuntimeVersion: "simulated://1.0.0",
      kubeletVersion: "v1.36.0-simulated",
      kubeProxyVersion: "",
      bootID: bootId,
      machineID: `simulated-${board.number}`,
      systemUUID: `simulated-${board.number}`,
    },
  };
}

/** True if the Node in the API differs from what the board would report. */
export function isMisjudged({ status }: Node): boolean {
  const shown = new Map(status?.conditions?.map((condition) => [condition.type, condition.status]));
  return healthy.some((condition) => shown.get(condition.type) !== condition.status);
}

export function newLease(board: BoardPlate, node: Node | undefined, duration: Millis, now: Instant): NewObject {
  const { name } = board;
  const owner = node && { apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid };
  const object = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: leaseNamespace, ...(owner && { ownerReferences: [owner] }) },
    spec: leaseSpec(board, duration, now),
  };
  return object;
}

export const leaseNamespace = "kube-node-lease";

export const leaseSpec = ({ name }: BoardPlate, duration: Millis, now: Instant): NonNullable<Lease["spec"]> => ({
  holderIdentity: name,
  leaseDurationSeconds: Math.ceil(duration / 1000),
  renewTime: microTimestamp(now),
});
