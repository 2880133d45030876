import { isJsonObject, type JsonObject, type JsonValue } from "../../../agent/api/json.ts";
import { applyJsonPatch } from "../../patches/json-patch.ts";
import { mergeSchemaOf } from "../../patches/merge-keys.ts";
import { mergedObject } from "../../patches/merge-patch.ts";
import { PatchError } from "../../patches/patch-error.ts";
import { applyStrategicMerge } from "../../patches/strategic-merge.ts";
import type { Entry } from "../objects/object.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { bodyOf, contentTypeOf, parsedJson, type Received, received, repeatedIn } from "../requests/document.ts";
import { type ApiResponse, response, warnings } from "../requests/exchange.ts";
import { badRequest, Failure, inapplicablePatch, invalid, unsupportedMediaType } from "../requests/failure.ts";
import { fieldValidationIn, isDryRun } from "../requests/options.ts";
import { invalidValue } from "../requests/problems.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { apply } from "./apply.ts";
import { existing } from "./get.ts";
import { writable } from "./update.ts";
import { replaceObject } from "./write.ts";

const applyType = "application/apply-patch+yaml";

type Applies = (object: JsonObject, patch: JsonValue, kind: ServedKind) => JsonValue;

const patchTypes: Readonly<Record<string, Applies>> = {
  "application/json-patch+json": (object, patch) => applyJsonPatch(object, patch),
  "application/merge-patch+json": (object, patch) => mergedObject(object, asObject(patch)),
  "application/strategic-merge-patch+json": (object, patch, { kind }) =>
    applyStrategicMerge(object, asObject(patch), mergeSchemaOf(kind)),
};

export function patch(site: Site, call: ObjectCall): ApiResponse {
  const { request, query, kind, shown } = call;
  const subresource = writable(kind, call.subresource);
  const type = contentTypeOf(request);
  if (type === applyType) return apply(site, call, subresource);
  const applies = patchTypes[type];
  if (applies === undefined) throw unsupportedMediaType([...Object.keys(patchTypes), applyType]);
  const document = parsedJson(bodyOf(request));
  const before = existing(site, call);
  const dryRun = isDryRun(query, "PatchOptions");
  const validation = fieldValidationIn(query, "PatchOptions");
  // Unknown fields are never stored, so they came from the patch.
  const repeated = repeatedIn(request, validation);
  const { sent, warnings: found } = readPatched(patched(applies, before, document, kind), kind, validation, repeated);
  const after = replaceObject(site, kind, before, sent, { subresource, isPatch: true, dryRun });
  return response(200, shown.one(after), warnings(found));
}

function patched(applies: Applies, { object }: Entry, document: JsonValue, kind: ServedKind): JsonValue {
  try {
    return applies({ kind: kind.kind, apiVersion: apiVersionOf(kind), ...object }, document, kind);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw error.kind === "malformed"
      ? badRequest(`error decoding patch: ${error.message}`)
      : inapplicablePatch(error.message);
  }
}

/** Reads the patched object. It is not the client's own document, so if it is invalid, the patch was wrong. */
function readPatched(...[value, kind, validation, repeated]: Parameters<typeof received>): Received {
  try {
    return received(value, kind, validation, repeated);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 400) throw error;
    throw invalid({ group: "", kind: "" }, "", [invalidValue("patch", null, error.message)]);
  }
}

function asObject(patch: JsonValue): JsonObject {
  if (!isJsonObject(patch)) throw new PatchError("malformed", "the patch is not an object");
  return patch;
}
