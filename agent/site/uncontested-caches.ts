import { placeOf } from "../api/index-values.ts";
import type { KubeObject } from "../api/meta.ts";
import { boardLeaseNamespace, leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { fieldOf } from "../api/selectors.ts";
import type { Caches } from "../loop/site-view.ts";
import { FilteredCaches } from "./filtered-caches.ts";
import type { SiteClaims } from "./site-claims.ts";

/** Functions that return the board of an object ("" without one), by the name of the resource. */
const boardOf: Readonly<Record<string, (object: KubeObject) => string>> = {
  [resourceName(leases)]: ({ metadata }) => (metadata.namespace === boardLeaseNamespace ? metadata.name : ""),
  [resourceName(pods)]: (pod) => fieldOf(pod, "spec.nodeName"),
};

/**
 * The caches without the boards that an older site claims, and without their Leases and pods. Controllers do not act on
 * objects that they do not see: to them, such a board has left the selection until the conflict has ended.
 */
export const uncontestedCaches = (caches: Caches, claims: Pick<SiteClaims, "none" | "claimant">): Caches =>
  new FilteredCaches(caches, {
    isOpen: () => claims.none,
    shows: (resource, object) => !isContested(resource, object, { caches, claims }),
    showsValue(_resource, index, value) {
      const board = boardOfValue[index]?.(value);
      return board === undefined ? undefined : !isClaimed(board, { caches, claims });
    },
  });

/**
 * For some indexes, a function that returns the board of a value. All pods with the value are on that board, so either
 * all or none of them are shown.
 */
const boardOfValue: Readonly<Record<string, (value: string) => string>> = {
  byNode: (board) => board,
  byNodeIfReady: (board) => board,
  byPlace: (place) => placeOf(place).board,
};

/**
 * Whether an older site claims a Node (by the labels of the given state), or the Node of another object (by the Node's
 * current labels).
 */
function isContested(
  resource: Resource<KubeObject>,
  object: KubeObject,
  { caches, claims }: { readonly caches: Caches; readonly claims: Pick<SiteClaims, "claimant"> },
): boolean {
  const name = resourceName(resource);
  if (name === resourceName(nodes)) return claims.claimant(object.metadata.labels) !== undefined;
  const board = boardOf[name]?.(object);
  return board !== undefined && isClaimed(board, { caches, claims });
}

function isClaimed(
  board: string,
  { caches, claims }: { readonly caches: Caches; readonly claims: Pick<SiteClaims, "claimant"> },
): boolean {
  const node = board === "" ? undefined : caches.informer(nodes).lister.get(board);
  return node !== undefined && claims.claimant(node.metadata.labels) !== undefined;
}
