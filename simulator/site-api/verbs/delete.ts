import { isJsonObject, type JsonObject } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import type { ApiObject, Entry } from "../objects/object.ts";
import { rangeOf } from "../objects/object-store.ts";
import { isTerminating } from "../objects/termination.ts";
import type { Call, ObjectCall, Site } from "../requests/call.ts";
import { bodyOf, documentIn } from "../requests/document.ts";
import { type ApiRequest, type ApiResponse, jsonResponse, response } from "../requests/exchange.ts";
import { badRequest, conflict, forbidden, methodNotAllowed, noSuchResource } from "../requests/failure.ts";
import { type DeleteOptions, deleteOptionsIn, isSelected, selectionIn } from "../requests/options.ts";
import { namespacesServed } from "../served.ts";
import type { ServedKind } from "../served-kind.ts";
import { existing } from "./get.ts";
import { itemsOf, listOf } from "./list.ts";
import { deleteObject, storeChange } from "./write.ts";

/** Namespaces that a site needs, which must not be deleted. */
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

/** Deletes everything that was selected at the time of the request. Returns the objects as they were before. */
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

/** Begins the deletion of a namespace. It is removed once it is empty; before that it does not accept new objects. */
function removeNamespace(site: Site, before: Entry, { dryRun }: DeleteOptions): Entry {
  const { name } = before.object.metadata;
  if (kept.includes(name)) throw forbidden(namespacesServed, name, "this namespace may not be deleted");
  if (isTerminating(before.object)) return before;
  const { metadata } = before.object;
  const deletionTimestamp = timestamp(site.clock.now());
  const object = { ...before.object, metadata: { ...metadata, deletionTimestamp }, status: { phase: "Terminating" } };
  return storeChange(site, namespacesServed, before, object, dryRun);
}

/**
 * Throws if the stored object is not the one meant by the request, because a deletion must not affect a successor with
 * the same name.
 */
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
  if (!isJsonObject(body)) throw badRequest("the body is not a DeleteOptions");
  if (body.kind !== undefined && body.kind !== "DeleteOptions") {
    throw badRequest(`the body must be a DeleteOptions, not ${JSON.stringify(body.kind)}`);
  }
  return body;
}
