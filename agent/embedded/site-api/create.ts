import { bind } from "./bind.ts";
import type { Call, ObjectCall, Site } from "./call.ts";
import { objectIn } from "./document.ts";
import { evict } from "./evict.ts";
import { type ApiResponse, response, warning } from "./exchange.ts";
import { methodNotAllowed } from "./failure.ts";
import { existing, withoutContainers } from "./get.ts";
import { isDryRun } from "./options.ts";
import type { ServedKind } from "./served-kind.ts";
import { createObject } from "./write.ts";

export function create(site: Site, { request, query, kind, namespace, shown }: Call): ApiResponse {
  // Without a namespace there is nowhere to put it.
  if (kind.namespaced && namespace === undefined) throw methodNotAllowed();
  const created = createObject(site, kind, namespace, objectIn(request, kind), isDryRun(query, "CreateOptions"));
  return createdResponse(kind, shown.one(created));
}

/** The answer to whoever created an object. */
export function createdResponse(kind: ServedKind, text: string): ApiResponse {
  if (!kind.inert) return response(201, text);
  const told = `no controller of this embedded site looks after a ${kind.kind}: it is kept, and nothing comes of it`;
  return response(201, text, warning(told));
}

/** POST to an object is POST to one of its subresources. */
export function createIn(site: Site, call: ObjectCall): ApiResponse {
  if (call.subresource === undefined) throw methodNotAllowed();
  if (call.kind.plural === "pods" && call.subresource === "binding") return bind(site, call);
  if (call.kind.plural === "pods" && call.subresource === "eviction") return evict(site, call);
  existing(site, call);
  throw withoutContainers(call) ?? methodNotAllowed();
}
