import { withMember } from "../../../agent/api/json.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { objectIn } from "../requests/document.ts";
import { type ApiResponse, response, warnings } from "../requests/exchange.ts";
import { badRequest, methodNotAllowed, notFound } from "../requests/failure.ts";
import { fieldValidationIn, isDryRun } from "../requests/options.ts";
import type { ServedKind } from "../served-kind.ts";
import { noSuchPart } from "./get.ts";
import { createObject, replaceObject } from "./write.ts";

export function update(site: Site, call: ObjectCall): ApiResponse {
  const { query, kind, namespace, name, shown } = call;
  const subresource = writable(kind, call.subresource);
  const { sent, warnings: found } = objectIn(call, fieldValidationIn(query, "UpdateOptions"));
  const dryRun = isDryRun(query, "UpdateOptions");
  const before = site.store.get(kind, namespace, name);
  if (before !== undefined) {
    const after = replaceObject(site, kind, before, sent, { subresource, isPatch: false, dryRun });
    return response(200, shown.one(after), warnings(found));
  }
  if (!kind.createOnUpdate || subresource !== undefined) throw notFound(kind, name);
  if (sent.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${String(sent.metadata.name ?? "")}) does not match the name on the URL (${name})`,
    );
  }
  // A resourceVersion is not checked if the object does not exist.
  const object = { ...sent, metadata: withMember(sent.metadata, "resourceVersion", undefined) };
  return response(201, shown.one(createObject(site, kind, namespace, object, dryRun)), warnings(found));
}

/** The subresources that are views of the object itself. Throws a Failure for others. */
export function writable(kind: ServedKind, subresource: string | undefined): "status" | undefined {
  if (subresource === undefined || (subresource === "status" && kind.status)) return subresource;
  throw kind.subresources?.some(({ name }) => name === subresource)
    ? methodNotAllowed()
    : noSuchPart(kind, subresource);
}
