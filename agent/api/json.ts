/** Any value that `JSON.parse` returns. Readonly, because values from a cache or a log are shared. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isJsonArray = (value: unknown): value is readonly JsonValue[] => Array.isArray(value);

/** The value of a member. Inherited properties (`constructor`, `toString`) are not part of the document. */
export const member = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The value at a path of member names; `undefined` if any member on the path is missing. */
export const valueAt = (value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(member, value);

/** The string at a path; "" if there is none. */
export const textAt = (value: JsonValue | undefined, ...path: readonly string[]): string => {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
};

export const numberAt = (value: JsonValue | undefined, ...path: readonly string[]): number | undefined => {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
};

const noItems: readonly JsonValue[] = [];

/** The items of the array at a path; none if there is no array. */
export const itemsAt = (value: JsonValue | undefined, ...path: readonly string[]): readonly JsonValue[] => {
  const found = valueAt(value, ...path);
  return isJsonArray(found) ? found : noItems;
};

/** The object with one member set, or removed if `value` is undefined. */
export function withMember(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _, ...rest } = object;
  return rest;
}

/** Deep equality; the order of an object's members does not matter. */
export function isSameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) return isJsonArray(b) && a.length === b.length && a.every((item, i) => isSameJson(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}
