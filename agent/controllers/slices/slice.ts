import type { EndpointSlice } from "../../api/core.ts";
import type { OwnerReference } from "../../api/meta.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";
import { byHash } from "../service/fnv-128.ts";
import { type SlicePort, slicePortText } from "../service/go-text.ts";
import type { Family } from "../service/ip.ts";

export type { SlicePort } from "../service/go-text.ts";
export type SliceEndpoint = NonNullable<EndpointSlice["endpoints"]>[number];

/** The intended content of a slice. */
export interface SliceContent {
  readonly addressType: Family;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
  readonly labels: Readonly<Record<string, string>>;
}

/** An existing slice and its new content. */
export interface SliceUpdate {
  readonly slice: EndpointSlice;
  readonly content: SliceContent;
  /**
   * The slice is reused in place of a new one: it keeps its name and, with "keep generateName", its generateName; all
   * other content is new.
   */
  readonly reuse?: "keep generateName" | "drop generateName";
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly SliceUpdate[];
  readonly remove: readonly EndpointSlice[];
}

export const managedByLabel = "endpointslice.kubernetes.io/managed-by";

/** The endpoints of a slice; the API sends an empty list as null. */
export const endpointsOf = (slice: EndpointSlice): readonly SliceEndpoint[] => slice.endpoints ?? [];
export const portsOf = (slice: EndpointSlice): readonly SlicePort[] => slice.ports ?? [];

/** The ports sorted by hash, as in kube-controller-manager. */
export const sortedPorts = (ports: readonly SlicePort[]): Steps<readonly SlicePort[]> => byHash(ports, slicePortText);

/** Key of a set of ports: endpoints share slices only if they have the same ports, in any order. */
export function* portMapOf(ports: readonly SlicePort[]): Steps<string> {
  const texts = yield* mapInSteps(ports, slicePortText);
  return JSON.stringify([...texts].sort());
}

/**
 * The identity by which an endpoint is found for an update in place: its addresses, host name and target (in Kubernetes
 * 1.36, two pods with the same address are two endpoints).
 */
export const identityOf = ({ addresses, hostname = "", targetRef }: SliceEndpoint): string =>
  JSON.stringify([[...addresses].sort(), hostname, targetRef?.namespace ?? "", targetRef?.name ?? ""]);

/** Whether two endpoints with the same identity are equal. Hints are ignored, because they are derived. */
export function isSameEndpoint(a: SliceEndpoint, b: SliceEndpoint): boolean {
  const [left, right] = [a.conditions ?? {}, b.conditions ?? {}];
  return (
    a.nodeName === b.nodeName &&
    a.zone === b.zone &&
    left.ready === right.ready &&
    left.serving === right.serving &&
    left.terminating === right.terminating &&
    targetText(a) === targetText(b)
  );
}

/** The target as a string, without its resourceVersion, which changes with every write to the pod. */
const targetText = ({ targetRef }: SliceEndpoint): string =>
  targetRef === undefined
    ? ""
    : JSON.stringify([
        targetRef.kind ?? "",
        targetRef.namespace ?? "",
        targetRef.name ?? "",
        targetRef.uid ?? "",
        targetRef.apiVersion ?? "",
        targetRef.fieldPath ?? "",
      ]);

export const isOwnedBy = (slice: EndpointSlice, { apiVersion, kind, uid }: OwnerReference): boolean =>
  slice.metadata.ownerReferences?.some(
    (owner) => owner.uid === uid && owner.kind === kind && owner.apiVersion === apiVersion,
  ) ?? false;

/** The generateName of an owner's slices; a name may have at most 253 characters. */
export const prefixOf = (name: string): string => (name.length < 253 ? `${name}-` : name);
