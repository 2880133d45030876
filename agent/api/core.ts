import type {
  CoreV1Event,
  V1ControllerRevision,
  V1DaemonSet,
  V1EndpointSlice,
  V1Endpoints,
  V1Lease,
  V1Namespace,
  V1Node,
  V1NodeCondition,
  V1NodeStatus,
  V1NodeSystemInfo,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodCondition,
  V1ReplicaSet,
  V1Service,
  V1Taint,
  V1Toleration,
} from "@kubernetes/client-node";
import type { ObjectMeta, OnWire } from "./meta.ts";

type Read<T extends { metadata?: unknown }> = Omit<OnWire<T>, "metadata"> & { readonly metadata: ObjectMeta };

/** A Node in the cache has only a few fields of its nodeInfo. */
export type Node = Read<Omit<V1Node, "status"> & { status?: Omit<V1NodeStatus, "nodeInfo"> & { nodeInfo?: NodeInfo } }>;
type NodeInfo = Partial<V1NodeSystemInfo>;
export type NodeCondition = OnWire<V1NodeCondition>;
export type Pod = Read<V1Pod>;
export type PodCondition = OnWire<V1PodCondition>;
export type Namespace = Read<V1Namespace>;
export type PersistentVolume = Read<V1PersistentVolume>;
export type PersistentVolumeClaim = Read<V1PersistentVolumeClaim>;
export type Event = Read<CoreV1Event>;
export type Lease = Read<V1Lease>;
export type ReplicaSet = Read<V1ReplicaSet>;
export type Taint = OnWire<V1Taint>;
export type Toleration = OnWire<V1Toleration>;
export type DaemonSet = Read<V1DaemonSet>;
export type ControllerRevision = Read<V1ControllerRevision>;
export type Service = Read<V1Service>;
export type Endpoints = Read<V1Endpoints>;
export type EndpointSlice = Read<V1EndpointSlice>;
