import { isJsonObject, itemsAt, type JsonObject, type JsonValue } from "../../../api/json.ts";
import type { Rules } from "../served-kind.ts";

const withDefaults = (items: readonly JsonValue[], defaults: JsonObject): readonly JsonValue[] =>
  items.map((item) => (isJsonObject(item) ? { ...defaults, ...item } : item));

const withProtocols = (endpoints: JsonObject): JsonObject => ({
  ...endpoints,
  subsets: itemsAt(endpoints, "subsets").map((subset) =>
    isJsonObject(subset) ? { ...subset, ports: withDefaults(itemsAt(subset, "ports"), { protocol: "TCP" }) } : subset,
  ),
});

export const endpointsRules: Rules = { created: withProtocols, updated: withProtocols };

const sliceDefaults = (slice: JsonObject): JsonObject => ({
  ...slice,
  endpoints: withDefaults(itemsAt(slice, "endpoints"), { conditions: {} }),
  ports: withDefaults(itemsAt(slice, "ports"), { name: "", protocol: "TCP" }),
});

export const endpointSliceRules: Rules = { created: sliceDefaults, updated: sliceDefaults };
