import type { EndpointSlice } from "../../api/core.ts";
import type { OwnerReference } from "../../api/meta.ts";
import { mapped, type Steps } from "../../base/steps.ts";
import { byHash } from "../service/fnv-128.ts";
import { type SlicePort, slicePortText } from "../service/go-text.ts";
import type { Family } from "../service/ip.ts";

export type { SlicePort } from "../service/go-text.ts";
export type SliceEndpoint = NonNullable<EndpointSlice["endpoints"]>[number];

/** What a slice is to hold. */
export interface SliceContent {
  readonly addressType: Family;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
  readonly labels: Readonly<Record<string, string>>;
}

/** A slice that is there, and what becomes of it. */
export interface SliceUpdate {
  readonly slice: EndpointSlice;
  readonly content: SliceContent;
  /** It takes the place of a new one: nothing but its name stays. renamed: without a word of what the name was made from. */
  readonly madeOver?: "kept" | "renamed";
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly SliceUpdate[];
  readonly remove: readonly EndpointSlice[];
}

export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";

/** Lists that hold nothing are null on the wire. */
export const endpointsOf = (slice: EndpointSlice): readonly SliceEndpoint[] => slice.endpoints ?? [];
export const portsOf = (slice: EndpointSlice): readonly SlicePort[] => slice.ports ?? [];

/** In kube-controller-manager's order: by a hash. */
export const sortedPorts = (ports: readonly SlicePort[]): Steps<readonly SlicePort[]> => byHash(ports, slicePortText);

/** Slices of one service share endpoints only where they have the very same ports, in whatever order. */
export function* portMapOf(ports: readonly SlicePort[]): Steps<string> {
  const texts = yield* mapped(ports, slicePortText);
  return JSON.stringify([...texts].sort());
}

/**
 * Tells one endpoint from another, so that it can change in its place: its addresses, its hostname and whose they are
 * (kubernetes 1.36: two pods of the same address are two endpoints).
 */
export const identityOf = ({ addresses, hostname = "", targetRef }: SliceEndpoint): string =>
  JSON.stringify([[...addresses].sort(), hostname, targetRef?.namespace ?? "", targetRef?.name ?? ""]);

/** Of endpoints of one identity: whether they say the same besides. Hints follow from the rest, and do not count. */
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

/** The version of the pod that was written long ago does not count. */
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

/** What names of slices begin with. A name has at most 253 characters. */
export const prefixOf = (name: string): string => (name.length < 253 ? `${name}-` : name);
