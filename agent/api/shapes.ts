import { checkPod, isOptionalSelector } from "./pod-shape.ts";
import {
  areTexts,
  hasTooManyLabels,
  isObjectName,
  isOptional,
  isText,
  keepConditions,
  keepItems,
  keepOnly,
  keepStrings,
  type ParsedFields,
  section,
} from "./shape-rules.ts";
import { checkDaemonSet, checkEndpointSlice, checkEndpoints, checkRevision, checkService } from "./workload-shapes.ts";

/**
 * Checks those fields of one kind that this program reads. Deletes malformed fields in place. If the object would have
 * another meaning without them (a Lease that seems unheld, a Pod that seems to tolerate nothing), it is refused
 * instead. Returns the reason for a refusal; undefined if the object can be used.
 */
export type ShapeCheck = (object: ParsedFields) => string | undefined;

/** The check of each kind, by its resource's plural. Fields that are not checked here must not be read anywhere. */
export const shapeChecks: Readonly<Record<string, ShapeCheck>> = {
  nodes: checkNode,
  pods: checkPod,
  leases: checkLease,
  namespaces: checkNamespace,
  persistentvolumes: checkVolume,
  persistentvolumeclaims: checkClaim,
  daemonsets: checkDaemonSet,
  controllerrevisions: checkRevision,
  services: checkService,
  endpoints: checkEndpoints,
  endpointslices: checkEndpointSlice,
};

function checkNode(node: ParsedFields): string | undefined {
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

function checkLease(lease: ParsedFields): string | undefined {
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

function checkNamespace(namespace: ParsedFields): string | undefined {
  const status = section(namespace, "status");
  if (status) keepOnly(status, "phase", "string");
  return undefined;
}

function checkVolume(volume: ParsedFields): string | undefined {
  const spec = section(volume, "spec");
  const claim = spec && section(spec, "claimRef");
  if (claim) keepOnly(claim, "uid", "string");
  const affinity = spec && section(spec, "nodeAffinity");
  return affinity && !isOptionalSelector(affinity, "required") ? "spec.nodeAffinity is not an affinity" : undefined;
}

function checkClaim(claim: ParsedFields): string | undefined {
  const spec = section(claim, "spec");
  if (spec && !isObjectName(spec.volumeName)) delete spec.volumeName;
  return undefined;
}

/** Checks the metadata of any kind, except name, uid and resourceVersion. */
export function checkMetadata(metadata: ParsedFields, mostLabels: number): string | undefined {
  if (!isOptional(metadata, "deletionTimestamp", "string")) return "metadata.deletionTimestamp is not a string";
  if (hasTooManyLabels(metadata.labels, mostLabels)) return `has more than ${mostLabels} labels`;
  keepStrings(metadata, "labels");
  keepStrings(metadata, "annotations");
  keepOnly(metadata, "creationTimestamp", "string");
  keepOnly(metadata, "generation", "number");
  keepOnly(metadata, "deletionGracePeriodSeconds", "number");
  keepItems(metadata, "ownerReferences", isOwner);
  if (metadata.finalizers !== undefined && !areTexts(metadata.finalizers)) delete metadata.finalizers;
  return undefined;
}

/**
 * Replaces strings that are longer than in any real owner reference, because API servers accept references of 1.5 MB,
 * and every object has its own copy.
 */
function isOwner(owner: ParsedFields): boolean {
  for (const name of ["apiVersion", "kind", "name", "uid"]) {
    const text = owner[name];
    if (!isText(text)) return false;
    if (text.length > maxOwnerTextLength) owner[name] = "(too long)";
  }
  return true;
}

/**
 * In characters. The longest string of a real owner reference is its apiVersion: a group of at most 253 characters, and
 * a version.
 */
const maxOwnerTextLength = 512;

const isTaint = (taint: ParsedFields): boolean => {
  keepOnly(taint, "value", "string");
  keepOnly(taint, "timeAdded", "string");
  return isText(taint.key) && isText(taint.effect);
};
