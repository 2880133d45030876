import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  withMember,
} from "../../agent/api/json.ts";
import type { MergeSchema } from "./merge-keys.ts";
import { PatchError } from "./patch-error.ts";

/**
 * Kubernetes' strategic merge patch: a merge patch in which lists that have a merge key merge item by item, with these
 * directives: `$patch: delete | replace | merge` in an object or in an item of such a list, `$retainKeys`,
 * `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`.
 */
export function applyStrategicMerge(target: JsonObject, patch: JsonObject, schema: MergeSchema): JsonObject {
  return mergedObject(target, patch, schema);
}

const directive = "$patch";
const retainKeys = "$retainKeys";
const elementOrder = "$setElementOrder/";
const deleteFromList = "$deleteFromPrimitiveList/";
const unknown: MergeSchema = {};

const schemaOf = (schema: MergeSchema, name: string): MergeSchema => {
  const fields = schema.fields ?? {};
  return (Object.hasOwn(fields, name) ? fields[name] : undefined) ?? unknown;
};

function directiveOf(patch: JsonObject): "delete" | "replace" | "merge" {
  const value = member(patch, directive);
  if (value === undefined) return "merge";
  if (value === "delete" || value === "replace" || value === "merge") return value;
  throw new PatchError("malformed", `unknown ${directive} directive ${JSON.stringify(value)}`);
}

function mergedObject(target: JsonObject, patch: JsonObject, schema: MergeSchema): JsonObject {
  switch (directiveOf(patch)) {
    case "delete":
      return {};
    case "replace":
      return withMember(patch, directive, undefined);
    case "merge":
      break;
  }
  const retained = textsOf(patch, retainKeys);
  const kept = Object.entries(target).filter(([name]) => retained?.includes(name) ?? true);
  const merged = new Map<string, JsonValue>(kept);
  for (const name of namesIn(patch)) {
    const value = member(patch, name);
    if (value === null) merged.delete(name);
    else {
      const order = member(patch, elementOrder + name);
      const leaving = textsOf(patch, deleteFromList + name) ?? [];
      const result = mergedValue(merged.get(name), value, { schema: schemaOf(schema, name), order, leaving });
      if (result !== undefined) merged.set(name, result);
    }
  }
  return Object.fromEntries(merged);
}

/** The fields that a patch affects: its own, and those that only a list directive names. */
function namesIn(patch: JsonObject): ReadonlySet<string> {
  const names = Object.keys(patch).flatMap((name) => {
    if (name === directive || name === retainKeys) return [];
    const list = [elementOrder, deleteFromList].find((prefix) => name.startsWith(prefix));
    return [list === undefined ? name : name.slice(list.length)];
  });
  return new Set(names);
}

interface Part {
  readonly schema: MergeSchema;
  /** `$setElementOrder` of this field. */
  readonly order: JsonValue | undefined;
  /** `$deleteFromPrimitiveList` of this field. */
  readonly leaving: readonly string[];
}

/** `patch` is undefined if only directives name the field; in which case the result may be undefined, too. */
function mergedValue(target: JsonValue | undefined, patch: JsonValue | undefined, part: Part): JsonValue | undefined {
  if (isJsonObject(patch)) return mergedObject(isJsonObject(target) ? target : {}, patch, part.schema);
  const { merge } = part.schema;
  if (merge === undefined || (patch !== undefined && !isJsonArray(patch))) return patch ?? target;
  if (patch === undefined && target === undefined) return undefined;
  const before = isJsonArray(target) ? target : [];
  return merge === "value" ? mergedSet(before, patch ?? [], part) : mergedList(before, patch ?? [], merge, part);
}

function mergedSet(target: readonly JsonValue[], patch: readonly JsonValue[], { order, leaving }: Part): JsonValue {
  const items = new Map([...target, ...patch].map((item) => [identity(item), item]));
  for (const item of leaving) items.delete(item);
  return ordered(items, target.map(identity), isJsonArray(order) ? order.map(identity) : undefined);
}

function mergedList(
  target: readonly JsonValue[],
  patch: readonly JsonValue[],
  key: string,
  { schema, order }: Part,
): JsonValue {
  const idOf = (item: JsonValue): string => identity(member(item, key));
  const fields: MergeSchema = { fields: schema.fields ?? {} };
  const changes = patch.map((item) => {
    if (!isJsonObject(item)) throw new PatchError("malformed", `an item of a list merged by ${key} is an object`);
    return { item, what: directiveOf(item) };
  });
  const replaces = changes.some(({ what }) => what === "replace");
  const before = keyed(target, idOf);
  const items = new Map(replaces ? [] : before);
  for (const { item, what } of changes) {
    if (what === "replace") continue;
    if (member(item, key) === undefined) {
      throw new PatchError("malformed", `an item of a list merged by ${key} has no ${key}`);
    }
    const id = idOf(item);
    const found = items.get(id);
    if (what === "delete") items.delete(id);
    else items.set(id, mergedObject(isJsonObject(found) ? found : {}, item, fields));
  }
  return ordered(items, [...before.keys()], isJsonArray(order) ? order.map(idOf) : undefined);
}

/**
 * The items of a list by their identity. If two items share a key (port 53, TCP and UDP), a patch applies to the first.
 */
function keyed(list: readonly JsonValue[], idOf: (item: JsonValue) => string): ReadonlyMap<string, JsonValue> {
  const items = new Map<string, JsonValue>();
  for (const item of list) {
    const id = idOf(item);
    items.set(items.has(id) ? `${id}\0${items.size}` : id, item);
  }
  return items;
}

/** Identity of an item: a string itself, anything else as JSON. */
const identity = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

/**
 * Sorts items. Those named in the order follow it. Between a named and an unnamed item, their previous relative order
 * decides; if there was none, the unnamed item comes first.
 */
function ordered(
  items: ReadonlyMap<string, JsonValue>,
  before: readonly string[],
  order: readonly string[] | undefined,
): readonly JsonValue[] {
  if (order === undefined) return [...items.values()];
  const placeBefore = new Map(before.map((id, place) => [id, place]));
  const named = new Set(order);
  const rest = [...items].filter(([id]) => !named.has(id));
  const result: JsonValue[] = [];
  let next = 0;
  for (const id of named) {
    const item = items.get(id);
    if (item === undefined) continue;
    const place = placeBefore.get(id);
    for (; next < rest.length; next++) {
      const [other, value] = rest[next] ?? ["", null];
      if (place !== undefined && (placeBefore.get(other) ?? Number.POSITIVE_INFINITY) > place) break;
      result.push(value);
    }
    result.push(item);
  }
  return [...result, ...rest.slice(next).map(([, value]) => value)];
}

function textsOf(patch: JsonObject, name: string): readonly string[] | undefined {
  const value = member(patch, name);
  if (value === undefined) return undefined;
  if (isJsonArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  throw new PatchError("malformed", `${name} is not a list`);
}
