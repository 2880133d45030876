import { itemsAt, type JsonObject, textAt } from "../../../agent/api/json.ts";
import { objectAt } from "../kinds/pods.ts";
import type { ApiObject } from "./object.ts";

/** The pod with one condition set, replacing any of the same type. */
export function withCondition(pod: ApiObject, condition: JsonObject): ApiObject {
  const type = textAt(condition, "type");
  const others = itemsAt(pod, "status", "conditions").filter((one) => textAt(one, "type") !== type);
  return { ...pod, status: { ...objectAt(pod, "status"), conditions: [...others, condition] } };
}
