import type { Logger } from "../../agent/base/logger.ts";
import { documentAt } from "./discovery/documents.ts";
import type { Call, ObjectCall, Site } from "./requests/call.ts";
import { headerOf } from "./requests/document.ts";
import type { ApiRequest, ApiResponse } from "./requests/exchange.ts";
import {
  badRequest,
  Failure,
  internalError,
  methodNotAllowed,
  noSuchResource,
  unavailable,
} from "./requests/failure.ts";
import { flagIn } from "./requests/options.ts";
import { isWatch, prettyResponse, wantsPretty } from "./requests/pretty.ts";
import { representationFor } from "./requests/representation.ts";
import { routeOf } from "./requests/routes.ts";
import { create, createIn } from "./verbs/create.ts";
import { remove, removeCollection } from "./verbs/delete.ts";
import { get } from "./verbs/get.ts";
import { list } from "./verbs/list.ts";
import { patch } from "./verbs/patch.ts";
import { answerReview } from "./verbs/reviews.ts";
import { isScale, scale } from "./verbs/scale.ts";
import { update } from "./verbs/update.ts";
import { watch } from "./verbs/watch.ts";

/** Responds to a request. A failure becomes the response and does not affect other requests. */
export function answer(site: Site, request: ApiRequest, log: Logger): ApiResponse {
  try {
    if (site.closing.aborted) throw unavailable("the server is shutting down");
    return laidOut(request, routed(site, request));
  } catch (error) {
    return laidOut(request, failureOf(error, request, log).response());
  }
}

function laidOut(request: ApiRequest, response: ApiResponse): ApiResponse {
  const [, ...search] = request.path.split("?");
  const pretty = wantsPretty(new URLSearchParams(search.join("?")), headerOf(request, "user-agent"));
  return pretty && !isWatch(request) ? prettyResponse(response) : response;
}

function routed(site: Site, request: ApiRequest): ApiResponse {
  const [path = "", ...search] = request.path.split("?");
  const query = new URLSearchParams(search.join("?"));
  const route = routeOf(path);
  switch (route.at) {
    case "document":
      return documentAt(route.path, request);
    case "review":
      return answerReview(route.kind, route.apiVersion, request, site.clock);
    case "nowhere":
      throw noSuchResource();
    case "collection":
    case "object": {
      const accept = headerOf(request, "accept");
      const shown = representationFor(route.kind, accept, query, () => site.clock.now().wall);
      const call = { ...route, request, query, shown };
      return call.at === "object" ? withObject(site, call) : withCollection(site, call);
    }
    default:
      return route satisfies never;
  }
}

function withCollection(site: Site, call: Call): ApiResponse {
  switch (call.request.method) {
    case "GET":
      return flagIn(call.query, "watch") ? watch(site, call) : list(site, call);
    case "POST":
      return create(site, call);
    case "DELETE":
      return removeCollection(site, call);
    default:
      throw methodNotAllowed();
  }
}

function withObject(site: Site, call: ObjectCall): ApiResponse {
  if (isScale(call)) return scale(site, call);
  switch (call.request.method) {
    case "GET":
      return get(site, call);
    case "POST":
      return createIn(site, call);
    case "PUT":
      return update(site, call);
    case "PATCH":
      return patch(site, call);
    case "DELETE":
      return remove(site, call);
    default:
      throw methodNotAllowed();
  }
}

function failureOf(error: unknown, { method, path }: ApiRequest, log: Logger): Failure {
  if (error instanceof Failure) return error;
  // Documents are read, merged and written recursively.
  if (error instanceof RangeError) return badRequest("the document nests too deep");
  log.error("request failed", {
    method,
    path: path.slice(0, 200),
    error,
    stack: error instanceof Error ? error.stack : "",
  });
  return internalError(error instanceof Error ? error.message : String(error));
}
