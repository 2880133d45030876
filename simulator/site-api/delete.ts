import { isJsonObject, type JsonObject } from "../../agent/api/json.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import type { Call, ObjectCall, Site } from "./call.ts";
import { bodyOf, documentIn } from "./document.ts";
import { type ApiRequest, type ApiResponse, jsonResponse, response } from "./exchange.ts";
import { badRequest, conflict, forbidden, methodNotAllowed, noSuchResource } from "./failure.ts";
import { existing } from "./get.ts";
import { itemsOf, listOf } from "./list.ts";
import type { ApiObject, Entry } from "./object.ts";
import { rangeOf } from "./object-store.ts";
import { type DeleteOptions, deleteOptionsIn, isSelected, selectionIn } from "./options.ts";
import { namespacesServed } from "./served.ts";
import type { ServedKind } from "./served-kind.ts";
import { isTerminating } from "./termination.ts";
import { deleteObject, storeChange } from "./write.ts";

/** What a site cannot be without. */
const kept = ["default", "kube-system", "kube-public"];

export function remove(site: Site, call: ObjectCall): ApiResponse {
  const { request, query, kind, name, shown } = call;
  if (call.subresource !== undefined) throw kind.subresources ? methodNotAllowed() : noSuchResource();
  const options = deleteOptionsIn(query, optionsBody(request));
  const before = existing(site, call);
  checkPreconditions(kind, before.object, options);
  if (kind === namespacesServed) return response(200, shown.one(removeNamespace(site, before, options)));
  const { does, entry } = deleteObject(site, kind, before, options, options.dryRun);
  if (does !== "remove" || kind.returnsDeleted) return response(200, shown.one(entry));
  const details = {
    name,
    ...(kind.group !== "" && { group: kind.group }),
    kind: kind.plural,
    uid: entry.object.metadata.uid,
  };
  return jsonResponse(200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

/** Everything selected, as it was when the request came. Answers with what it was. */
export function removeCollection(site: Site, call: Call): ApiResponse {
  const { request, query, kind, namespace } = call;
  if ((kind.namespaced && namespace === undefined) || kind === namespacesServed) throw methodNotAllowed();
  const options = deleteOptionsIn(query, optionsBody(request));
  const selection = selectionIn(query, kind);
  const { store } = site;
  const at = store.revision;
  for (const entry of itemsOf(store, rangeOf(kind, namespace), at)) {
    if (!isSelected(selection, entry.object)) continue;
    const now = store.get(kind, namespace, entry.object.metadata.name);
    if (now !== undefined) deleteObject(site, kind, now, options, options.dryRun);
  }
  return listOf(site, call, selection, at);
}

/** A namespace goes when it is empty; until then nothing new is put into it. */
function removeNamespace(site: Site, before: Entry, { dryRun }: DeleteOptions): Entry {
  const { name } = before.object.metadata;
  if (kept.includes(name)) throw forbidden(namespacesServed, name, "this namespace may not be deleted");
  if (isTerminating(before.object)) return before;
  const { metadata } = before.object;
  const deletionTimestamp = timestamp(site.clock.now());
  const object = { ...before.object, metadata: { ...metadata, deletionTimestamp }, status: { phase: "Terminating" } };
  return storeChange(site, namespacesServed, before, object, dryRun);
}

/** A deletion decided about one object does not hit the next one of the same name. */
export function checkPreconditions(
  { group, kind }: ServedKind,
  { metadata }: ApiObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  const of = { group, kind, plural: kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      of,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`,
    );
  }
  const version = String(metadata.resourceVersion);
  if (resourceVersion !== undefined && resourceVersion !== version) {
    throw conflict(
      of,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${version})`,
    );
  }
}

function optionsBody(request: ApiRequest): JsonObject {
  if (bodyOf(request).trim() === "") return {};
  const body = documentIn(request);
  if (!isJsonObject(body)) throw badRequest("the body is no DeleteOptions");
  if (body.kind !== undefined && body.kind !== "DeleteOptions") {
    throw badRequest(`the body is ${JSON.stringify(body.kind)} where DeleteOptions belong`);
  }
  return body;
}
