import type { KubeObject } from "../api/meta.ts";
import {
  boardLeaseNamespace,
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  namespaces,
  nodes,
  pods,
  type Resource,
  resourceName,
  services,
} from "../api/resources.ts";

/** The label selectors of this site's boards and namespaces; undefined for all of the cluster. */
export interface SiteScope {
  readonly nodeSelector?: string | undefined;
  readonly namespaceSelector?: string | undefined;
}

/** The part of a collection that is listed and watched. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** True if objects are listed and watched without spec and status. */
  readonly metadataOnly?: boolean;
}

/** The Leases of kubelets. All other Leases are read by name. */
const nodeLeases: Selection = { namespace: boardLeaseNamespace, metadataOnly: true };

export function selectionOf(resource: Resource<KubeObject>, { nodeSelector, namespaceSelector }: SiteScope): Selection {
  if (isSame(resource, nodes)) return labelled(nodeSelector);
  if (isSame(resource, namespaces)) return labelled(namespaceSelector);
  return isSame(resource, leases) ? nodeLeases : {};
}

/**
 * A site that is not the whole cluster watches pods board by board: they do not carry the labels of their board, and a
 * site's link could not carry all pods of a cluster of a thousand boards.
 */
export const isByBoard = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, pods);

export const onBoard = (board: string): Selection => ({ fieldSelector: `spec.nodeName=${board}` });

/** Unbound pods, which are watched because those in the site's namespaces will run on its boards. */
export const unboundPods = onBoard("");

/** Whether the site has its own namespaces, so that unbound pods may belong to it. */
export const hasNamespaces = ({ namespaceSelector }: SiteScope): boolean => namespaceSelector !== undefined;

/** Whether the namespace of a resource's objects decides to which site they belong. */
export const isWorkload = (resource: Resource<KubeObject>): boolean => workloads.some((one) => isSame(one, resource));

const workloads: readonly Resource<KubeObject>[] = [
  daemonSets,
  controllerRevisions,
  services,
  endpoints,
  endpointSlices,
];

/**
 * Whether only the objects of this site's boards are kept. Leases do not carry the labels of their boards either, but
 * are small, so all are watched, and those of other sites' boards are dropped on arrival.
 */
export const isOfBoards = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, leases);

/** Whether DELETED may mean that the object is no longer selected rather than gone, as with a label selector. */
export const mayBeReleased = ({ labelSelector }: Selection): boolean => labelSelector !== undefined;

/**
 * The name under which the cache stores a resource. Each scope has its own name, because positions and objects differ
 * between scopes. For a resource that is watched board by board, the name of the board is appended.
 */
export function storedName(resource: Resource<KubeObject>, scope: SiteScope): string {
  const { labelSelector } = selectionOf(resource, scope);
  const by = isByBoard(resource, scope) || isOfBoards(resource, scope) ? scope.nodeSelector : labelSelector;
  return by === undefined ? resourceName(resource) : `${resourceName(resource)}[${by}]`;
}

const isSame = (a: Resource<KubeObject>, b: Resource<KubeObject>): boolean => resourceName(a) === resourceName(b);

const labelled = (labelSelector: string | undefined): Selection =>
  labelSelector === undefined ? {} : { labelSelector };
