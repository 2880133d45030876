import type { Entry } from "../objects/object.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { type ApiResponse, response } from "../requests/exchange.ts";
import {
  type Failure,
  methodNotAllowed,
  noSuchResource,
  notFound,
  notImplemented,
  tooLargeResourceVersion,
} from "../requests/failure.ts";
import { revisionIn } from "../requests/options.ts";
import type { ServedKind } from "../served-kind.ts";

export function get(site: Site, call: ObjectCall): ApiResponse {
  const { kind, query, shown, subresource } = call;
  const wanted = revisionIn(query);
  if (wanted !== undefined && wanted > site.store.revision) throw tooLargeResourceVersion(wanted, site.store.revision);
  const found = existing(site, call);
  if (subresource === undefined || (subresource === "status" && kind.status)) return response(200, shown.one(found));
  throw withoutContainers(call) ?? methodNotAllowed();
}

/** The object of a call. Throws a Failure if it does not exist. */
export function existing({ store }: Site, { kind, namespace, name }: ObjectCall): Entry {
  const found = store.get(kind, namespace, name);
  if (found === undefined) throw notFound(kind, name);
  return found;
}

/** The failure for a subresource that a kind does not have here. */
export const noSuchPart = ({ inert, kind }: ServedKind, subresource: string | undefined): Failure =>
  inert && subresource === "scale"
    ? notImplemented(`no controller of this embedded site handles a ${kind}: there is nothing to scale`)
    : noSuchResource();

/** The failure for a subresource that needs a running container; undefined for other existing subresources. */
export function withoutContainers({ kind, subresource }: ObjectCall) {
  if (!kind.subresources?.some(({ name }) => name === subresource)) return noSuchPart(kind, subresource);
  if (subresource === "log") return notImplemented("the pods of this embedded site are simulated: they write no logs");
  if (subresource === "binding" || subresource === "eviction") return undefined;
  return notImplemented(`the pods of this embedded site are simulated: there is no container for ${subresource}`);
}
