import { checkPod } from "./pod-shape.ts";
import {
  areTexts,
  type Fields,
  hasTooManyLabels,
  isOptional,
  isText,
  keepConditions,
  keepItems,
  keepOnly,
  keepStrings,
  mostLabels,
  section,
} from "./shape-rules.ts";
import { checkDaemonSet, checkEndpointSlice, checkEndpoints, checkRevision, checkService } from "./workload-shapes.ts";

/**
 * Checks the fields of one kind that this program reads. Malformed fields that are dispensable are deleted in place.
 * Returns why an object cannot be used at all: if leaving out a field would make us act (a Lease that seems unheld, a
 * Pod that seems to tolerate nothing), the object is refused instead.
 */
export type ShapeCheck = (object: Fields) => string | undefined;

/** By plural: the one place that decides which fields of an object can be trusted. */
export const shapeChecks: Readonly<Record<string, ShapeCheck>> = {
  nodes: checkNode,
  pods: checkPod,
  leases: checkLease,
  namespaces: checkNamespace,
  daemonsets: checkDaemonSet,
  controllerrevisions: checkRevision,
  services: checkService,
  endpoints: checkEndpoints,
  endpointslices: checkEndpointSlice,
};

function checkNode(node: Fields): string | undefined {
  const spec = section(node, "spec");
  const status = section(node, "status");
  if (spec) {
    keepItems(spec, "taints", isTaint);
    keepOnly(spec, "unschedulable", "boolean");
    keepOnly(spec, "providerID", "string");
  }
  if (status) {
    keepConditions(status);
    keepItems(status, "addresses", (address) => isText(address.type) && isText(address.address));
    keepStrings(status, "nodeInfo");
  }
  return undefined;
}

function checkLease(lease: Fields): string | undefined {
  const spec = section(lease, "spec");
  if (!spec) return undefined;
  for (const name of ["holderIdentity", "acquireTime", "renewTime"]) {
    if (!isOptional(spec, name, "string")) return `spec.${name} is not a string`;
  }
  for (const name of ["leaseDurationSeconds", "leaseTransitions"]) {
    if (!isOptional(spec, name, "number")) return `spec.${name} is not a number`;
  }
  return undefined;
}

function checkNamespace(namespace: Fields): string | undefined {
  const status = section(namespace, "status");
  if (status) keepOnly(status, "phase", "string");
  return undefined;
}

/** Metadata beyond name, uid and resourceVersion, for every kind. */
export function checkMetadata(metadata: Fields): string | undefined {
  if (!isOptional(metadata, "deletionTimestamp", "string")) return "metadata.deletionTimestamp is not a string";
  if (hasTooManyLabels(metadata.labels)) return `has more than ${mostLabels} labels`;
  keepStrings(metadata, "labels");
  keepStrings(metadata, "annotations");
  keepOnly(metadata, "creationTimestamp", "string");
  keepOnly(metadata, "generation", "number");
  keepOnly(metadata, "deletionGracePeriodSeconds", "number");
  keepItems(
    metadata,
    "ownerReferences",
    (owner) => isText(owner.apiVersion) && isText(owner.kind) && isText(owner.name) && isText(owner.uid),
  );
  if (metadata.finalizers !== undefined && !areTexts(metadata.finalizers)) delete metadata.finalizers;
  return undefined;
}

const isTaint = (taint: Fields): boolean => {
  keepOnly(taint, "value", "string");
  keepOnly(taint, "timeAdded", "string");
  return isText(taint.key) && isText(taint.effect);
};
