import { isSameJson, itemsAt, type JsonObject, type JsonValue, textAt, withMember } from "../../../agent/api/json.ts";
import { metadataProblems, nameProblems } from "../objects/names.ts";
import { type ApiObject, defined, type Metadata } from "../objects/object.ts";
import { isTerminating } from "../objects/termination.ts";
import type { Sent } from "../requests/document.ts";
import { badRequest, conflict, invalid, modified } from "../requests/failure.ts";
import { forbiddenField, invalidValue, type Problem } from "../requests/problems.ts";
import type { Admission, ServedKind } from "../served-kind.ts";

export interface ObjectIdentity {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
}

/** A new object in the form to store. Throws a Failure if it is not admitted. */
export function admitNew(kind: ServedKind, sent: Sent, identity: ObjectIdentity, admission: Admission): ApiObject {
  const { name, namespace, uid } = identity;
  const { generateName, labels, annotations, finalizers, ownerReferences, managedFields } = sent.metadata;
  if (!["", "0"].includes(textAt(sent.metadata, "resourceVersion"))) {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const metadata = defined({
    name,
    generateName,
    namespace,
    uid,
    ...(kind.generation && { generation: 1 }),
    creationTimestamp: admission.now,
    labels,
    annotations,
    finalizers,
    ownerReferences,
    managedFields,
  });
  const proposed: ApiObject = { ...sent, metadata: metadata as Metadata };
  const object = withMetadata(kind.rules?.created?.(proposed, admission) ?? proposed, proposed);
  check(kind, object, [...nameProblems(kind, name), ...problemsOf(kind, object, undefined)]);
  return object;
}

/** The object with its metadata. Rules change an object but keep its type. */
const withMetadata = (object: JsonObject, { metadata }: ApiObject): ApiObject => ({ metadata, ...object });

export interface WriteContext {
  /** "status": writes only the status and the descriptive parts of the metadata. */
  readonly subresource: "status" | undefined;
  /** A patch starts from the stored object, so every difference was requested. */
  readonly isPatch: boolean;
}

/** A changed object in the form to store. Throws a Failure if it is not admitted. */
export function admitChange(kind: ServedKind, sent: Sent, before: ApiObject, change: WriteContext): ApiObject {
  checkIdentity(kind, sent, before, change);
  const proposed = change.subresource === "status" ? statusOf(sent, before) : restOf(kind, sent, before);
  const object = withMetadata(kind.rules?.updated?.(proposed, before) ?? proposed, proposed);
  check(kind, object, [...finalizerProblems(object, before), ...problemsOf(kind, object, before)]);
  return counted(kind, object, before);
}

function checkIdentity(kind: ServedKind, { metadata }: Sent, before: ApiObject, { isPatch }: WriteContext): void {
  const { name, namespace, uid } = before.metadata;
  if (metadata.name !== name) {
    throw badRequest(
      `the name of the object (${String(metadata.name ?? "")}) does not match the name on the URL (${name})`,
    );
  }
  if ((metadata.namespace ?? namespace) !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if ((metadata.uid ?? uid) !== uid) {
    if (isPatch) throw invalid(kind, name, [invalidValue("metadata.uid", metadata.uid, "field is immutable")]);
    throw conflict(kind, name, `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`);
  }
  for (const member of ["deletionTimestamp", "deletionGracePeriodSeconds"]) {
    const was = before.metadata[member];
    if ((metadata[member] ?? was) === was) continue;
    throw invalid(kind, name, [invalidValue(`metadata.${member}`, metadata[member], "field is immutable")]);
  }
  const version = textAt(metadata, "resourceVersion");
  const current = before.metadata.resourceVersion;
  if (version !== "" && version !== "0") {
    if (version !== current) throw modified(kind, name);
  } else if (kind.versionedUpdate) {
    throw invalid(kind, name, [invalidValue("metadata.resourceVersion", version, "must be specified for an update")]);
  }
}

/** The metadata to store. Fields that only the server writes remain unchanged. */
function metadataOf(sent: Sent, before: ApiObject): Metadata {
  const { generateName, labels, annotations, finalizers, ownerReferences, managedFields } = sent.metadata;
  const kept = before.metadata;
  const metadata = defined({
    name: kept.name,
    generateName,
    namespace: kept.namespace,
    uid: kept.uid,
    generation: kept.generation,
    creationTimestamp: kept.creationTimestamp,
    deletionTimestamp: kept.deletionTimestamp,
    deletionGracePeriodSeconds: kept.deletionGracePeriodSeconds,
    labels,
    annotations,
    finalizers,
    ownerReferences,
    managedFields: isReset(managedFields) ? undefined : (managedFields ?? kept.managedFields),
  });
  return metadata as Metadata;
}

/** Whether the client resets managedFields, by sending a single empty entry. */
const isReset = (managed: unknown): boolean =>
  Array.isArray(managed) && managed.length === 1 && JSON.stringify(managed[0]) === "{}";

const statusOf = (sent: Sent, before: ApiObject): ApiObject => {
  const metadata = { ...metadataOf(sent, before), ...defined({ ownerReferences: before.metadata.ownerReferences }) };
  return { ...withMember(before, "status", sent.status), metadata };
};

const restOf = (kind: ServedKind, sent: Sent, before: ApiObject): ApiObject => ({
  ...withMember(sent, "status", kind.status ? before.status : sent.status),
  metadata: metadataOf(sent, before),
});

function finalizerProblems(object: ApiObject, before: ApiObject): readonly Problem[] {
  if (!isTerminating(before)) return [];
  const known = itemsAt(before.metadata, "finalizers");
  const added = itemsAt(object.metadata, "finalizers").filter((name) => !known.includes(name));
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${added.join(", ")}`;
  return added.length === 0 ? [] : [forbiddenField("metadata.finalizers", why)];
}

const problemsOf = (kind: ServedKind, object: ApiObject, before: ApiObject | undefined): readonly Problem[] => [
  ...metadataProblems(object.metadata),
  ...(kind.rules?.problems?.(object, before) ?? []),
];

function check(kind: ServedKind, { metadata }: ApiObject, problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalid(kind, metadata.name, problems);
}

/** The object with its generation, which increases after a change outside metadata and status. */
function counted(kind: ServedKind, object: ApiObject, before: ApiObject): ApiObject {
  const wish = ({ metadata: _m, status: _s, ...rest }: ApiObject): JsonValue => rest;
  const { generation } = before.metadata;
  if (!kind.generation || typeof generation !== "number" || isSameJson(wish(object), wish(before))) return object;
  return { ...object, metadata: { ...object.metadata, generation: generation + 1 } };
}
