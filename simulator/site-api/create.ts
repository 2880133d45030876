import { bind } from "./bind.ts";
import type { Call, ObjectCall, Site } from "./call.ts";
import { objectIn } from "./document.ts";
import { evict } from "./evict.ts";
import { type ApiResponse, response, warnings } from "./exchange.ts";
import { methodNotAllowed } from "./failure.ts";
import { existing, withoutContainers } from "./get.ts";
import { fieldValidationIn, isDryRun } from "./options.ts";
import type { ServedKind } from "./served-kind.ts";
import { createObject } from "./write.ts";

export function create(site: Site, call: Call): ApiResponse {
  const { query, kind, namespace, shown } = call;
  // Without a namespace there is nowhere to put it.
  if (kind.namespaced && namespace === undefined) throw methodNotAllowed();
  const { sent, warnings: told } = objectIn(call, fieldValidationIn(query, "CreateOptions"));
  const created = createObject(site, kind, namespace, sent, isDryRun(query, "CreateOptions"));
  return createdResponse(kind, shown.one(created), told);
}

/** The answer to whoever created an object. */
export function createdResponse(kind: ServedKind, text: string, told: readonly string[]): ApiResponse {
  const unattended = kind.inert
    ? `no controller of this embedded site looks after a ${kind.kind}: it is kept, and nothing comes of it`
    : kind.unattended;
  return response(201, text, warnings(unattended === undefined ? told : [...told, unattended]));
}

/** POST to an object is POST to one of its subresources. */
export function createIn(site: Site, call: ObjectCall): ApiResponse {
  if (call.subresource === undefined) throw methodNotAllowed();
  if (call.kind.plural === "pods" && call.subresource === "binding") return bind(site, call);
  if (call.kind.plural === "pods" && call.subresource === "eviction") return evict(site, call);
  existing(site, call);
  throw withoutContainers(call) ?? methodNotAllowed();
}
