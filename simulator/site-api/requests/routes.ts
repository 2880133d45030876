import { servedKinds } from "../served.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { badRequest } from "./failure.ts";

export type Route =
  | { readonly at: "collection"; readonly kind: ServedKind; readonly namespace: string | undefined }
  | {
      readonly at: "object";
      readonly kind: ServedKind;
      readonly namespace: string | undefined;
      readonly name: string;
      readonly subresource: string | undefined;
    }
  /** A request that is answered but not stored. */
  | { readonly at: "review"; readonly kind: string; readonly apiVersion: string }
  /** A path of discovery, health or documentation. */
  | { readonly at: "document"; readonly path: string }
  /** An unknown path in a served group and version. */
  | { readonly at: "nowhere" };

const reviews: Readonly<Record<string, string>> = {
  "authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
  "authorization.k8s.io/v1/selfsubjectrulesreviews": "SelfSubjectRulesReview",
  "authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
};

/** The target of a path. Throws a Failure if the path is invalid. */
export function routeOf(path: string): Route {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  const [root, ...rest] = parts;
  const core = root === "api" && rest.length > 1;
  if (!core && !(root === "apis" && rest.length > 2)) return { at: "document", path: `/${parts.join("/")}` };
  const apiVersion = core ? (rest[0] ?? "") : `${rest[0]}/${rest[1]}`;
  const within = rest.slice(core ? 1 : 2);
  const review = reviews[`${apiVersion}/${within.join("/")}`];
  if (review !== undefined) return { at: "review", kind: review, apiVersion };
  const kinds = servedKinds.filter((kind) => apiVersionOf(kind) === apiVersion);
  if (kinds.length > 0) return placeIn(kinds, within);
  // A group that is not served is treated like any other unknown path.
  return servedKinds.some(({ group }) => group === rest[0]) ? { at: "nowhere" } : { at: "document", path };
}

function placeIn(kinds: readonly ServedKind[], parts: readonly string[]): Route {
  const named = (plural: string | undefined): ServedKind | undefined => kinds.find((kind) => kind.plural === plural);
  const [first, second, third, ...more] = parts;
  const namespaced = first === "namespaces" && third !== undefined ? named(third) : undefined;
  if (namespaced?.namespaced) return placeOf(namespaced, second, more);
  const kind = named(first);
  if (kind === undefined) return { at: "nowhere" };
  const rest = parts.slice(1);
  // An object of a namespaced kind is reachable only through its namespace.
  return kind.namespaced && rest.length > 0 ? { at: "nowhere" } : placeOf(kind, undefined, rest);
}

function placeOf(kind: ServedKind, namespace: string | undefined, parts: readonly string[]): Route {
  const [name, subresource, ...more] = parts;
  if (name === undefined) return { at: "collection", kind, namespace };
  if (more.length > 0) return { at: "nowhere" };
  return { at: "object", kind, namespace, name, subresource };
}

function decoded(part: string): string {
  try {
    const text = decodeURIComponent(part);
    // Refused because parts of the path become parts of keys.
    if (text.includes("/") || text.includes("\0")) throw new URIError(part);
    return text;
  } catch {
    throw badRequest(`the path cannot be read at ${JSON.stringify(part)}`);
  }
}
