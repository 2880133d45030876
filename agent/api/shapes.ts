/** A JSON object fresh from the parser: ours to correct. */
export type Fields = Record<string, unknown>;

/**
 * Looks at the fields of one kind that this program reads. What is malformed and can be missed is taken out, in place;
 * the answer says why an object cannot be used at all: where leaving something out would make us act (a Lease that seems
 * unheld, a Pod that seems to tolerate nothing), the object is refused instead.
 */
export type ShapeCheck = (object: Fields) => string | undefined;

/** By plural: the one place that decides what of an object can be trusted. */
export const shapeChecks: Readonly<Record<string, ShapeCheck>> = {
  nodes: checkNode,
  pods: checkPod,
  leases: checkLease,
  namespaces: checkNamespace,
};

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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

function checkPod(pod: Fields): string | undefined {
  const spec = section(pod, "spec");
  const status = section(pod, "status");
  if (spec) {
    if (!isOptional(spec, "nodeName", "string")) return "spec.nodeName is not a string";
    if (!areTolerations(spec)) return "spec.tolerations is not a list of tolerations";
    keepOnly(spec, "terminationGracePeriodSeconds", "number");
  }
  if (status) {
    if (!isOptional(status, "phase", "string")) return "status.phase is not a string";
    keepConditions(status);
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

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const isTaint = (taint: Fields): boolean => {
  keepOnly(taint, "value", "string");
  keepOnly(taint, "timeAdded", "string");
  return isText(taint.key) && isText(taint.effect);
};

function areTolerations(spec: Fields): boolean {
  if (isAbsent(spec, "tolerations")) return true;
  const { tolerations } = spec;
  return Array.isArray(tolerations) && tolerations.every((item: unknown) => isFields(item) && isToleration(item));
}

const isToleration = (toleration: Fields): boolean =>
  ["key", "operator", "value", "effect"].every((name) => isOptional(toleration, name, "string")) &&
  isOptional(toleration, "tolerationSeconds", "number");

function keepConditions(status: Fields): void {
  keepItems(status, "conditions", (condition) => {
    for (const name of ["reason", "message", "lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"]) {
      keepOnly(condition, name, "string");
    }
    return isText(condition.type) && isText(condition.status);
  });
}

/** A part of the object that must itself be an object; anything else counts as not there. */
function section(object: Fields, name: string): Fields | undefined {
  const value = object[name];
  if (isFields(value)) return value;
  if (value !== undefined) delete object[name];
  return undefined;
}

/** JSON null means "not there". */
function isAbsent(owner: Fields, name: string): boolean {
  if (owner[name] === null) delete owner[name];
  return owner[name] === undefined;
}

const isOptional = (owner: Fields, name: string, type: "string" | "number" | "boolean"): boolean =>
  isAbsent(owner, name) || typeof owner[name] === type;

function keepOnly(owner: Fields, name: string, type: "string" | "number" | "boolean"): void {
  if (!isOptional(owner, name, type)) delete owner[name];
}

/** A map of strings. Entries of another type go, the rest stays. */
function keepStrings(owner: Fields, name: string): void {
  if (isAbsent(owner, name)) return;
  const map = owner[name];
  if (!isFields(map)) {
    delete owner[name];
    return;
  }
  for (const key in map) if (typeof map[key] !== "string") delete map[key];
}

/** A list of objects. Items that cannot be used go, the rest stays in its order. */
function keepItems(owner: Fields, name: string, usable: (item: Fields) => boolean): void {
  if (isAbsent(owner, name)) return;
  const list = owner[name];
  if (!Array.isArray(list)) {
    delete owner[name];
    return;
  }
  const kept = list.filter((item: unknown) => isFields(item) && usable(item));
  if (kept.length < list.length) owner[name] = kept;
}
