import type { Call, ObjectCall, Site } from "../requests/call.ts";
import { objectIn } from "../requests/document.ts";
import { type ApiResponse, response, warnings } from "../requests/exchange.ts";
import { methodNotAllowed } from "../requests/failure.ts";
import { fieldValidationIn, isDryRun } from "../requests/options.ts";
import type { ServedKind } from "../served-kind.ts";
import { bind } from "./bind.ts";
import { evict } from "./evict.ts";
import { existing, withoutContainers } from "./get.ts";
import { createObject } from "./write.ts";

export function create(site: Site, call: Call): ApiResponse {
  const { query, kind, namespace, shown } = call;
  // A namespaced object needs a namespace.
  if (kind.namespaced && namespace === undefined) throw methodNotAllowed();
  const { sent, warnings: found } = objectIn(call, fieldValidationIn(query, "CreateOptions"));
  const created = createObject(site, kind, namespace, sent, isDryRun(query, "CreateOptions"));
  return createdResponse(kind, shown.one(created), found);
}

/** The response to a create. */
export function createdResponse(kind: ServedKind, text: string, found: readonly string[]): ApiResponse {
  const unattended = kind.inert
    ? `no controller of this embedded site handles a ${kind.kind}: it is stored without effect`
    : kind.unattended;
  return response(201, text, warnings(unattended === undefined ? found : [...found, unattended]));
}

/** POST to an object addresses one of its subresources. */
export function createIn(site: Site, call: ObjectCall): ApiResponse {
  if (call.subresource === undefined) throw methodNotAllowed();
  if (call.kind.plural === "pods" && call.subresource === "binding") return bind(site, call);
  if (call.kind.plural === "pods" && call.subresource === "eviction") return evict(site, call);
  existing(site, call);
  throw withoutContainers(call) ?? methodNotAllowed();
}
