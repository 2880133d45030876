import type { KubeObject } from "./meta.ts";
import { apiVersionOf, type Resource } from "./resources.ts";
import { type Fields, isFields } from "./shape-rules.ts";
import { checkMetadata, shapeChecks } from "./shapes.ts";

/** A validated object, or why it is invalid; then with its `resourceVersion`, if readable and of this resource. */
export type Parsed<T> =
  | { readonly ok: true; readonly object: T }
  | { readonly ok: false; readonly why: string; readonly resourceVersion: string | undefined };

/** The API's own types nest less than 20 deep; serialising thousands of levels as JSON would overflow the stack. */
const deepest = 100;

/**
 * The edge at which input from an API server becomes an object: from here on its type holds for every field that we
 * read. `value` must be fresh from JSON.parse: it is corrected in place. Never throws.
 *
 * Items of a list lack kind and apiVersion, and partial metadata has its own kind: both get those of the resource.
 */
export function parseObject<T extends KubeObject>(value: unknown, resource: Resource<T>): Parsed<T> {
  if (!isFields(value)) return { ok: false, why: `a ${resource.kind} that is no object`, resourceVersion: undefined };
  const stranger = strangerThan(value, resource, true);
  if (stranger !== undefined) return { ok: false, why: stranger, resourceVersion: undefined };
  const why = problemOf(value, resource);
  if (why === undefined) {
    value.apiVersion = apiVersionOf(resource);
    value.kind = resource.kind;
    const object: object = value;
    return { ok: true, object: object as T };
  }
  return { ok: false, why: `${nameOf(value, resource)}: ${why}`, resourceVersion: resourceVersionOf(value) };
}

/**
 * Why an object is of another kind or apiVersion than the resource's; undefined if it names neither. With `isPartial`,
 * partial metadata of an object is accepted.
 */
export function strangerThan(value: Fields, resource: Resource<KubeObject>, isPartial: boolean): string | undefined {
  const { kind, apiVersion } = value;
  if (isPartial && kind === "PartialObjectMetadata") return undefined;
  if (kind !== undefined && kind !== resource.kind) return `${nameOf(value, resource)}: is of ${named("kind", kind)}`;
  if (apiVersion === undefined || apiVersion === apiVersionOf(resource)) return undefined;
  return `${nameOf(value, resource)}: is of ${named("apiVersion", apiVersion)}`;
}

/** The member may be anything, even an object that cannot be converted to a string. */
const named = (member: string, value: unknown): string =>
  typeof value === "string" ? `${member} ${value.slice(0, 63)}` : `a ${member} that is no string`;

/** The identity of an object, if that is readable although the rest is not valid. */
export function parseIdentity<T extends KubeObject>(value: unknown, resource: Resource<T>): T | undefined {
  if (!isFields(value) || !isFields(value.metadata)) return undefined;
  const { name, namespace, uid, resourceVersion } = value.metadata;
  const metadata = { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) };
  const { kind, apiVersion } = value;
  const parsed = parseObject({ kind, apiVersion, metadata }, resource);
  return parsed.ok ? parsed.object : undefined;
}

/** The resourceVersion of any value shaped like an object. */
export function resourceVersionOf(value: unknown): string | undefined {
  if (!isFields(value) || !isFields(value.metadata)) return undefined;
  const { resourceVersion } = value.metadata;
  return typeof resourceVersion === "string" && resourceVersion !== "" ? resourceVersion : undefined;
}

function problemOf(value: Fields, resource: Resource<KubeObject>): string | undefined {
  const { metadata } = value;
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
  if (`${metadata.name}${metadata.namespace ?? ""}`.includes("/")) return "has a slash in its name";
  if (isDeeperThan(value, deepest)) return `is nested more than ${deepest} deep`;
  return checkMetadata(metadata) ?? shapeChecks[resource.plural]?.(value);
}

function nameOf({ metadata }: Fields, { kind }: Resource<KubeObject>): string {
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
