import type { KubeObject } from "./meta.ts";
import { apiVersionOf, type Resource } from "./resources.ts";
import { isFields, maxLabelsOf, type ParsedFields } from "./shape-rules.ts";
import { checkMetadata, shapeChecks } from "./shapes.ts";

export type Parsed<T> =
  | { readonly ok: true; readonly object: T }
  /** `resourceVersion`: that of the invalid object, if it is readable and the object is of the expected kind. */
  | { readonly ok: false; readonly why: string; readonly resourceVersion: string | undefined };

/**
 * Maximum depth of an object, in levels. The API's own types are nested less than 20 deep; serialising thousands of
 * levels would overflow the stack.
 */
const maxDepth = 100;

/**
 * Validates an object from an API server: afterwards, every field that this program reads has the declared type.
 * Corrects `value` in place, which must therefore be fresh from JSON.parse. Never throws.
 *
 * Sets kind and apiVersion to those of the resource, because list items lack them and partial metadata has others.
 * `isBrief`: the request was for metadata only, so an object of kind PartialObjectMetadata needs no other fields.
 */
export function parseObject<T extends KubeObject>(value: unknown, resource: Resource<T>, isBrief = false): Parsed<T> {
  if (!isFields(value))
    return { ok: false, why: `a ${resource.kind} that is not an object`, resourceVersion: undefined };
  const mismatch = kindMismatch(value, resource, true);
  if (mismatch !== undefined) return { ok: false, why: mismatch, resourceVersion: undefined };
  const why = problemOf(value, resource, isBrief && value.kind === "PartialObjectMetadata");
  if (why === undefined) {
    value.apiVersion = apiVersionOf(resource);
    value.kind = resource.kind;
    const object: object = value;
    return { ok: true, object: object as T };
  }
  return { ok: false, why: `${nameOf(value, resource)}: ${why}`, resourceVersion: resourceVersionOf(value) };
}

/**
 * How an object's kind or apiVersion differs from the resource's; undefined if they agree or are absent. With
 * `isPartial`, the kind PartialObjectMetadata is accepted as well.
 */
export function kindMismatch(
  value: ParsedFields,
  resource: Resource<KubeObject>,
  isPartial: boolean,
): string | undefined {
  const { kind, apiVersion } = value;
  if (isPartial && kind === "PartialObjectMetadata") return undefined;
  if (kind !== undefined && kind !== resource.kind) return `${nameOf(value, resource)}: has ${named("kind", kind)}`;
  if (apiVersion === undefined || apiVersion === apiVersionOf(resource)) return undefined;
  return `${nameOf(value, resource)}: has ${named("apiVersion", apiVersion)}`;
}

/**
 * A field and its value, for messages. `value` is unchecked, perhaps an object that cannot be converted to a string.
 */
const named = (member: string, value: unknown): string =>
  typeof value === "string" ? `${member} ${value.slice(0, 63)}` : `a ${member} that is not a string`;

/**
 * The object reduced to name, namespace, uid and resourceVersion; undefined if these are invalid. Reads nothing else.
 */
export function parseIdentity<T extends KubeObject>(value: unknown, resource: Resource<T>): T | undefined {
  if (!isFields(value) || !isFields(value.metadata)) return undefined;
  if (kindMismatch(value, resource, true) !== undefined) return undefined;
  const { name, namespace, uid, resourceVersion } = value.metadata;
  const metadata = { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) };
  const identity = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
  if (identityProblemOf(identity, resource) !== undefined) return undefined;
  const object: object = identity;
  return object as T;
}

/** The resourceVersion of unchecked input, if it has one. */
export function resourceVersionOf(value: unknown): string | undefined {
  if (!isFields(value) || !isFields(value.metadata)) return undefined;
  const { resourceVersion } = value.metadata;
  return typeof resourceVersion === "string" && resourceVersion !== "" ? resourceVersion : undefined;
}

function problemOf(value: ParsedFields, resource: Resource<KubeObject>, isPartial: boolean): string | undefined {
  const problem = identityProblemOf(value, resource);
  if (problem !== undefined) return problem;
  if (isDeeperThan(value, maxDepth)) return `is nested more than ${maxDepth} levels deep`;
  const metadataProblem = isFields(value.metadata) ? checkMetadata(value.metadata, maxLabelsOf(resource)) : undefined;
  return metadataProblem ?? (isPartial ? undefined : shapeChecks[resource.plural]?.(value));
}

function identityProblemOf({ metadata }: ParsedFields, resource: Resource<KubeObject>): string | undefined {
  if (!isFields(metadata)) return "has no metadata";
  for (const name of ["name", "uid", "resourceVersion"]) {
    const text = metadata[name];
    if (typeof text !== "string" || text === "") return `has no metadata.${name}`;
  }
  if (resource.namespaced) {
    if (typeof metadata.namespace !== "string" || metadata.namespace === "") return "has no metadata.namespace";
  } else if (metadata.namespace !== undefined) {
    delete metadata.namespace;
  }
  // Keys are "namespace/name"; a slash inside either would give two objects the same key.
  return `${metadata.name}${metadata.namespace ?? ""}`.includes("/") ? "has a slash in its name" : undefined;
}

/** "Pod default/web", for messages about unchecked input. */
export function nameOf({ metadata }: ParsedFields, { kind }: Resource<KubeObject>): string {
  if (!isFields(metadata) || typeof metadata.name !== "string") return kind;
  const namespace = typeof metadata.namespace === "string" ? `${metadata.namespace}/` : "";
  return `${kind} ${`${namespace}${metadata.name}`.slice(0, 317)}`;
}

function isDeeperThan(value: object, limit: number): boolean {
  if (limit === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item) && isDeeperThan(item, limit - 1)) return true;
    return false;
  }
  for (const name in value) {
    const item: unknown = value[name as keyof typeof value];
    if (isNested(item) && isDeeperThan(item, limit - 1)) return true;
  }
  return false;
}

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null;
