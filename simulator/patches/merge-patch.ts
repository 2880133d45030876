import { isJsonObject, type JsonObject, type JsonValue } from "../../agent/api/json.ts";

/** JSON merge patch (RFC 7386): null removes, objects merge, everything else replaces. */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const merged = new Map<string, JsonValue>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, applyMergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** A JSON merge patch in which patch and target are both objects, as in every patch of a Kubernetes object. */
export const mergedObject = (target: JsonObject, patch: JsonObject): JsonObject => {
  const merged = applyMergePatch(target, patch);
  return isJsonObject(merged) ? merged : {};
};
