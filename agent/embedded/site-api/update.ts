import type { ObjectCall, Site } from "./call.ts";
import { objectIn } from "./document.ts";
import { type ApiResponse, response } from "./exchange.ts";
import { badRequest, methodNotAllowed, notFound } from "./failure.ts";
import { noSuchPart } from "./get.ts";
import { isDryRun } from "./options.ts";
import type { ServedKind } from "./served-kind.ts";
import { createObject, replaceObject } from "./write.ts";

export function update(
  site: Site,
  { request, query, kind, namespace, name, subresource: part, shown }: ObjectCall,
): ApiResponse {
  const subresource = writable(kind, part);
  const sent = objectIn(request, kind);
  const dryRun = isDryRun(query, "UpdateOptions");
  const before = site.store.get(kind, namespace, name);
  if (before !== undefined) {
    return response(200, shown.one(replaceObject(site, kind, before, sent, { subresource, isPatch: false, dryRun })));
  }
  if (!kind.createOnUpdate || subresource !== undefined) throw notFound(kind, name);
  if (sent.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${String(sent.metadata.name ?? "")}) does not match the name on the URL (${name})`,
    );
  }
  return response(201, shown.one(createObject(site, kind, namespace, sent, dryRun)));
}

/** The subresources that are a view of the object itself. Throws a Failure for others. */
export function writable(kind: ServedKind, subresource: string | undefined): "status" | undefined {
  if (subresource === undefined || (subresource === "status" && kind.status)) return subresource;
  throw kind.subresources?.some(({ name }) => name === subresource)
    ? methodNotAllowed()
    : noSuchPart(kind, subresource);
}
