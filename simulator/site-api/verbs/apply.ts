import { isSameJson, itemsAt, type JsonObject, type JsonValue, textAt, withMember } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { mergeSchemaOf } from "../../patches/merge-keys.ts";
import { applyStrategicMerge } from "../../patches/strategic-merge.ts";
import type { ApiObject } from "../objects/object.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { bodyOf, parsedYaml, received, type Sent } from "../requests/document.ts";
import { type ApiResponse, response, warnings } from "../requests/exchange.ts";
import { badRequest, invalidOptions, notFound } from "../requests/failure.ts";
import { fieldValidationIn, isDryRun } from "../requests/options.ts";
import { required } from "../requests/problems.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { createdResponse } from "./create.ts";
import { createObject, replaceObject } from "./write.ts";

/**
 * Server-side apply without field ownership: the applied object is merged into the stored one by the schema's merge
 * keys. Fields that a manager applied earlier but now omits are kept, and managers never conflict; managedFields only
 * records who applied.
 */
export function apply(
  site: Site,
  { request, query, kind, namespace, name, shown }: ObjectCall,
  subresource: "status" | undefined,
): ApiResponse {
  const manager = query.get("fieldManager") ?? "";
  if (manager === "") throw invalidOptions("PatchOptions", [required("fieldManager", "is required for apply patch")]);
  const dryRun = isDryRun(query, "PatchOptions");
  const validation = fieldValidationIn(query, "PatchOptions");
  const { sent: applied, warnings: found } = received(parsedYaml(bodyOf(request)), kind, validation, []);
  if (itemsAt(applied.metadata, "managedFields").length > 0) throw badRequest("metadata.managedFields must be nil");
  if ((applied.metadata.name ?? name) !== name) {
    throw badRequest(
      `the name of the object (${String(applied.metadata.name)}) does not match the name on the URL (${name})`,
    );
  }
  const entry = managedBy(manager, kind, subresource, timestamp(site.clock.now()));
  const before = site.store.get(kind, namespace, name);
  if (before === undefined) {
    if (subresource !== undefined) throw notFound(kind, name);
    const metadata = { ...applied.metadata, name, managedFields: [entry] };
    return createdResponse(
      kind,
      shown.one(createObject(site, kind, namespace, { ...applied, metadata }, dryRun)),
      found,
    );
  }
  const sent = merged(before.object, applied, entry, kind);
  const after = replaceObject(site, kind, before, sent, { subresource, isPatch: true, dryRun });
  return response(200, shown.one(after), warnings(found));
}

function managedBy(manager: string, kind: ServedKind, subresource: string | undefined, time: string): JsonObject {
  const part: JsonObject = subresource === undefined ? {} : { subresource };
  return {
    manager,
    operation: "Apply",
    apiVersion: apiVersionOf(kind),
    time,
    fieldsType: "FieldsV1",
    fieldsV1: {},
    ...part,
  };
}

function merged(before: ApiObject, applied: Sent, entry: JsonObject, kind: ServedKind): Sent {
  const object = applyStrategicMerge(before, applied, mergeSchemaOf(kind.kind));
  const sent: Sent = { ...object, metadata: applyStrategicMerge(before.metadata, applied.metadata, {}) };
  const same = (one: JsonValue): boolean =>
    textAt(one, "manager") === textAt(entry, "manager") &&
    textAt(one, "operation") === "Apply" &&
    textAt(one, "subresource") === textAt(entry, "subresource");
  const entries = itemsAt(before.metadata, "managedFields");
  // Applying the current state again changes nothing, not even the time.
  if (isSameJson(sent, before) && entries.some(same)) return sent;
  const others = entries.filter((one) => !same(one));
  return { ...sent, metadata: withMember(sent.metadata, "managedFields", [...others, entry]) };
}
