import { isJsonObject, type JsonObject, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import { mergedObject } from "../../patches/merge-patch.ts";
import { labelsText } from "../columns/core.ts";
import { objectAt } from "../kinds/pods.ts";
import type { ApiObject } from "../objects/object.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { bodyOf, contentTypeOf, documentIn, parsedJson } from "../requests/document.ts";
import { type ApiResponse, jsonResponse } from "../requests/exchange.ts";
import { badRequest, invalid, methodNotAllowed, unsupportedMediaType } from "../requests/failure.ts";
import { isDryRun } from "../requests/options.ts";
import { invalidValue } from "../requests/problems.ts";
import { existing } from "./get.ts";
import { replaceObject } from "./write.ts";

const mergePatch = "application/merge-patch+json";

/**
 * Whether the call reads or writes a scale. Only kinds that are declared with this subresource have one (served.ts).
 */
export const isScale = ({ kind, subresource }: ObjectCall): boolean =>
  subresource === "scale" && (kind.subresources?.some(({ name }) => name === subresource) ?? false);

/** The scale of an object, as `kubectl scale` uses it: a separate document with the desired number of pods. */
export function scale(site: Site, call: ObjectCall): ApiResponse {
  const { kind, query, request } = call;
  const before = existing(site, call);
  const shown = scaleOf(before.object);
  if (request.method === "GET") return jsonResponse(200, shown);
  const asked = askedIn(call, shown);
  const replicas = numberAt(asked, "spec", "replicas");
  if (replicas === undefined || !Number.isInteger(replicas) || replicas < 0) {
    const value = valueAt(asked, "spec", "replicas") ?? null;
    throw invalid(kind, call.name, [invalidValue("spec.replicas", value, "must be a whole number, not below 0")]);
  }
  const { metadata, spec } = before.object;
  const resourceVersion = textAt(asked, "metadata", "resourceVersion");
  const sent = {
    ...before.object,
    metadata: { ...metadata, ...(resourceVersion !== "" && { resourceVersion }) },
    spec: { ...(isJsonObject(spec) ? spec : {}), replicas },
  };
  const dryRun = isDryRun(query, request.method === "PUT" ? "UpdateOptions" : "PatchOptions");
  const written = replaceObject(site, kind, before, sent, { subresource: undefined, isPatch: true, dryRun });
  return jsonResponse(200, scaleOf(written.object));
}

function askedIn({ request }: ObjectCall, shown: JsonObject): JsonValue {
  if (request.method === "PUT") return documentIn(request);
  if (request.method !== "PATCH") throw methodNotAllowed();
  if (contentTypeOf(request) !== mergePatch) throw unsupportedMediaType([mergePatch]);
  const patch = parsedJson(bodyOf(request));
  if (!isJsonObject(patch)) throw badRequest("error decoding patch: the patch is not an object");
  return mergedObject(shown, patch);
}

function scaleOf(object: ApiObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...objectOf({ namespace, uid, resourceVersion, creationTimestamp }) },
    spec: { replicas: numberAt(object, "spec", "replicas") ?? 1 },
    status: {
      replicas: numberAt(object, "status", "replicas") ?? 0,
      selector: labelsText(objectAt(object, "spec", "selector", "matchLabels")),
    },
  };
}

const objectOf = (members: Readonly<Record<string, JsonValue | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
