import type { KubeObject } from "../api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { fieldOf } from "../api/selectors.ts";
import { FilteredCaches } from "./filtered-caches.ts";
import type { SiteClaims } from "./site-claims.ts";
import type { Caches } from "./site-view.ts";

/** The board that an object belongs to, by the resource's name. */
const boardOf: Readonly<Record<string, (object: KubeObject) => string>> = {
  [resourceName(leases)]: ({ metadata }) => (metadata.namespace === "kube-node-lease" ? metadata.name : ""),
  [resourceName(pods)]: (pod) => fieldOf(pod, "spec.nodeName"),
};

/**
 * The caches without the boards that an older site claims, their Leases and their pods: controllers do nothing to
 * objects they do not see. To them such a board has left the selection, and joins it again when the conflict is over.
 */
export const uncontestedCaches = (caches: Caches, claims: Pick<SiteClaims, "none" | "claimant">): Caches =>
  new FilteredCaches(caches, {
    isOpen: () => claims.none,
    shows: (resource, object) => !isContested(resource, object, { caches, claims }),
  });

/** A Node is judged by its own labels, present or former; an object of a Node by the Node's present labels. */
function isContested(
  resource: Resource<KubeObject>,
  object: KubeObject,
  { caches, claims }: { readonly caches: Caches; readonly claims: Pick<SiteClaims, "claimant"> },
): boolean {
  const name = resourceName(resource);
  if (name === resourceName(nodes)) return claims.claimant(object.metadata.labels) !== undefined;
  const board = boardOf[name]?.(object);
  const node = board ? caches.informer(nodes).lister.get(board) : undefined;
  return node !== undefined && claims.claimant(node.metadata.labels) !== undefined;
}
