import { headerOf } from "../requests/document.ts";
import { type ApiRequest, type ApiResponse, jsonResponse, response } from "../requests/exchange.ts";
import { methodNotAllowed, noSuchResource, notAcceptable } from "../requests/failure.ts";
import { mediaRanges } from "../requests/representation.ts";
import { aggregated, aggregatedType, coreVersions, groupDocument, groupList, resourceList } from "./discovery.ts";
import { openApiDocument, openApiIndex, openApiV2, openApiV2Protobuf } from "./openapi.ts";

/**
 * The response to /version. It names the Kubernetes version whose behaviour this server follows; the rest identifies
 * this server.
 */
const version = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.0+siteward-embedded",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

const plain = { "content-type": "text/plain; charset=utf-8" };
const probes = ["/healthz", "/readyz", "/livez"];

const isProbe = (path: string): boolean => probes.some((probe) => path === probe || path.startsWith(`${probe}/`));

/** The response for a path that is not an object: discovery, documentation, health. */
export function documentAt(path: string, request: ApiRequest): ApiResponse {
  if (request.method !== "GET" && request.method !== "HEAD") {
    // The path may name a group that is not served, so 404 is right: the request was valid, but its path was not.
    throw documentOf(path, request) === undefined && !isProbe(path) ? noSuchResource() : methodNotAllowed();
  }
  if (isProbe(path)) return response(200, "ok", plain);
  const found = path === "/openapi/v2" ? openApi2(request) : documentOf(path, request);
  return found ?? response(404, "404 page not found\n", plain);
}

function documentOf(path: string, request: ApiRequest): ApiResponse | undefined {
  switch (path) {
    case "/version":
      return jsonResponse(200, version);
    case "/":
      return jsonResponse(200, {
        paths: ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"],
      });
    case "/api":
      return discovery("/api", coreVersions, request);
    case "/apis":
      return discovery("/apis", groupList, request);
    case "/openapi/v3":
      return jsonResponse(200, openApiIndex);
    default:
      return found(below(path, "/openapi/v3/", openApiDocument) ?? below(path, "/api/", resourceList) ?? groupAt(path));
  }
}

const found = (document: object | undefined): ApiResponse | undefined => document && jsonResponse(200, document);

const below = (path: string, root: string, document: (rest: string) => object | undefined): object | undefined =>
  path.startsWith(root) ? document(path.slice(root.length)) : undefined;

const groupAt = (path: string): object | undefined =>
  below(path, "/apis/", (rest) => (rest.includes("/") ? resourceList(rest) : groupDocument(rest)));

/** The discovery document of a root. Clients request the aggregated form first, and fall back to the plain one. */
function discovery(root: "/api" | "/apis", plainDocument: object, request: ApiRequest): ApiResponse {
  const wantsAll = mediaRanges(headerOf(request, "accept")).some(
    ({ parameters }) => parameters.get("as") === "APIGroupDiscoveryList" && parameters.get("v") === "v2",
  );
  if (!wantsAll) return jsonResponse(200, plainDocument);
  return response(200, JSON.stringify(aggregated(root)), { "content-type": aggregatedType });
}

/** kubectl reads this document only as protobuf, and does not validate a List without it. */
function openApi2(request: ApiRequest): ApiResponse {
  for (const { type } of mediaRanges(headerOf(request, "accept"))) {
    if (type === "application/json" || type === "*/*") return jsonResponse(200, openApiV2());
    if (type.replace("@", ".") === openApiProtobuf) {
      return response(200, openApiV2Protobuf(), { "content-type": openApiProtobuf });
    }
  }
  throw notAcceptable(["application/json"]);
}

/** The content type for protobuf. Clients request it with an "@", which no content type may contain. */
const openApiProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
