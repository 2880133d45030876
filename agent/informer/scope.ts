import type { KubeObject } from "../api/meta.ts";
import {
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

/** What belongs to this site: the whole cluster, unless its boards and namespaces are selected by label. */
export interface SiteScope {
  readonly nodeSelector?: string | undefined;
  readonly namespaceSelector?: string | undefined;
}

/** The part of a collection that is listed and watched. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Names, labels and owners, without spec and status. */
  readonly metadataOnly?: boolean;
}

/** The kubelets' Leases. Each other Lease has one reader, which asks for it by name. */
const nodeLeases: Selection = { namespace: "kube-node-lease", metadataOnly: true };

export function selectionOf(resource: Resource<KubeObject>, { nodeSelector, namespaceSelector }: SiteScope): Selection {
  if (isSame(resource, nodes)) return labelled(nodeSelector);
  if (isSame(resource, namespaces)) return labelled(namespaceSelector);
  return isSame(resource, leases) ? nodeLeases : {};
}

/**
 * Pods do not carry the labels of their board, so that a site which is not the whole cluster watches them board by
 * board: the pods of a cluster of a thousand boards would not fit through the link of one site.
 */
export const isByBoard = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, pods);

export const onBoard = (board: string): Selection => ({ fieldSelector: `spec.nodeName=${board}` });

/** Pods that wait for a board: those of the site's namespaces will run on its boards. */
export const notBound = onBoard("");

/** Whether the pods that wait for a board are this site's business, where pods are watched board by board. */
export const hasNamespaces = ({ namespaceSelector }: SiteScope): boolean => namespaceSelector !== undefined;

/** What belongs to a site by its namespace. */
export const isWorkload = (resource: Resource<KubeObject>): boolean => workloads.some((one) => isSame(one, resource));

const workloads: readonly Resource<KubeObject>[] = [
  daemonSets,
  controllerRevisions,
  services,
  endpoints,
  endpointSlices,
];

/** Leases do not carry them either, but are small: those of other sites' boards are left out when they arrive. */
export const isOfBoards = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, leases);

/** With a label selector, DELETED says no more than that the object is no longer selected. */
export const mayBeReleased = ({ labelSelector }: Selection): boolean => labelSelector !== undefined;

/**
 * Under which the cache knows what is mirrored of a resource. Another scope is another name: its position and its
 * objects mean nothing to this one. What is stored board by board has the name of the board behind it.
 */
export function storedName(resource: Resource<KubeObject>, scope: SiteScope): string {
  const { labelSelector } = selectionOf(resource, scope);
  const by = isByBoard(resource, scope) || isOfBoards(resource, scope) ? scope.nodeSelector : labelSelector;
  return by === undefined ? resourceName(resource) : `${resourceName(resource)}[${by}]`;
}

const isSame = (a: Resource<KubeObject>, b: Resource<KubeObject>): boolean => resourceName(a) === resourceName(b);

const labelled = (labelSelector: string | undefined): Selection =>
  labelSelector === undefined ? {} : { labelSelector };
