import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member, withMember } from "../api/json.ts";
import type { KubeObject } from "../api/meta.ts";

/** The patches that controllers send. */
export type PatchType = "merge" | "strategic";

/**
 * The object after a patch, as the API server would store it, as far as controllers use patches: a merge patch (RFC
 * 7386), or a strategic one, in which conditions are merged by their type. Identity and version stay as they are.
 */
export function patched<T extends KubeObject>(object: T, type: PatchType, patch: object): T {
  // Objects and patches are JSON; patching a kind of object gives the same kind.
  const result = merged(object as unknown as JsonValue, patch as JsonValue, type) as unknown as T;
  const { name, uid, resourceVersion } = object.metadata;
  return { ...result, metadata: { ...result.metadata, name, uid, resourceVersion } };
}

function merged(target: JsonValue | undefined, patch: JsonValue, type: PatchType): JsonValue {
  if (!isJsonObject(patch)) return patch;
  return Object.entries(patch).reduce<JsonObject>(
    (result, [name, value]) => {
      if (value === null) return withMember(result, name, undefined);
      const before = member(result, name);
      const isByType = type === "strategic" && name === "conditions" && isJsonArray(value);
      return withMember(result, name, isByType ? withConditions(before, value, type) : merged(before, value, type));
    },
    isJsonObject(target) ? target : {},
  );
}

function withConditions(before: JsonValue | undefined, patch: readonly JsonValue[], type: PatchType): JsonValue {
  const typeOf = (condition: JsonValue): JsonValue | undefined => member(condition, "type");
  const all = isJsonArray(before) ? [...before] : [];
  for (const condition of patch) {
    const at = all.findIndex((one) => typeOf(one) === typeOf(condition));
    if (at < 0) all.push(condition);
    else all[at] = merged(all[at], condition, type);
  }
  return all;
}
