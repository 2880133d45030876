import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, withMember } from "../../../agent/api/json.ts";
import { hears, type Mutant, withMetadata } from "./mutant.ts";

/** Removes members of a patch by name, at any depth. */
function stripped(value: JsonValue, fits: (name: string, value: JsonValue) => boolean): JsonValue {
  if (isJsonArray(value)) return value.map((one) => stripped(one, fits));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name, one]) => !fits(name, one));
  return Object.fromEntries(kept.map(([name, one]) => [name, stripped(one, fits)]));
}

const inPatches = (type: string, change: (patch: JsonObject) => JsonValue): Mutant["made"] =>
  hears((asked) => (asked.method === "PATCH" && asked.type.includes(type) ? { body: change(asked.body) } : undefined));

/** Servers that misread patches. */
export const patchMutants: readonly Mutant[] = [
  {
    does: "ignores the resourceVersion in a patch",
    breaks: ["stale-patch"],
    made: hears(({ method, body, type }) =>
      method === "PATCH" && type.includes("merge")
        ? { body: withMetadata(body, (one) => withMember(one, "resourceVersion", undefined)) }
        : undefined,
    ),
  },
  {
    does: "accepts a patch of an object's identity",
    breaks: ["patch-of-identity"],
    made: inPatches("/merge-patch", (patch) =>
      withMetadata(withMember(patch, "kind", undefined), (one) =>
        withMember(withMember(one, "name", undefined), "namespace", undefined),
      ),
    ),
  },
  {
    does: "skips the tests of a JSON patch",
    breaks: ["json-patch-test", "patch-of-another", "lease-taken-over"],
    made: skippingTests(),
  },
  {
    does: "ignores the nulls of a merge patch",
    breaks: ["merge-patch", "lease-released"],
    made: inPatches("/merge-patch", (patch) => stripped(patch, (_, value) => value === null)),
  },
  {
    does: "ignores the nulls of a strategic-merge patch",
    breaks: ["strategic-null"],
    made: inPatches("strategic", (patch) => stripped(patch, (_, value) => value === null)),
  },
  {
    does: "ignores $patch",
    breaks: ["strategic-delete", "strategic-replace", "strategic-owners"],
    made: inPatches("strategic", (patch) => stripped(patch, (name) => name === "$patch")),
  },
  {
    does: "ignores $retainKeys",
    breaks: ["strategic-retain"],
    made: inPatches("strategic", (patch) => stripped(patch, (name) => name === "$retainKeys")),
  },
  {
    does: "ignores $setElementOrder",
    breaks: ["strategic-order"],
    made: inPatches("strategic", (patch) => stripped(patch, (name) => name.startsWith("$setElementOrder"))),
  },
  {
    does: "ignores $deleteFromPrimitiveList",
    breaks: ["strategic-primitives"],
    made: inPatches("strategic", (patch) => stripped(patch, (name) => name.startsWith("$deleteFrom"))),
  },
  {
    does: "treats a strategic-merge patch as a merge patch",
    breaks: ["strategic-keys", "status-conditions"],
    made: hears(({ method, type }) =>
      method === "PATCH" && type.includes("strategic")
        ? { headers: { "content-type": "application/merge-patch+json" } }
        : undefined,
    ),
  },
  {
    does: "treats a merge patch as a strategic-merge patch",
    breaks: ["status-conditions"],
    made: hears(({ method, type }) =>
      method === "PATCH" && type.includes("/merge-patch")
        ? { headers: { "content-type": "application/strategic-merge-patch+json" } }
        : undefined,
    ),
  },
  {
    does: "treats every patch as a merge patch",
    breaks: ["patch-type"],
    made: hears(({ method }) =>
      method === "PATCH" ? { headers: { "content-type": "application/merge-patch+json" } } : undefined,
    ),
  },
];

function skippingTests(): Mutant["made"] {
  return (handle) => (request) => {
    if (request.method !== "PATCH" || !request.headers["content-type"]?.includes("json-patch")) return handle(request);
    const operations = JSON.parse(request.body ?? "[]") as readonly { readonly op?: string }[];
    return handle({ ...request, body: JSON.stringify(operations.filter(({ op }) => op !== "test")) });
  };
}
