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

/** The extent of this site: the whole cluster, unless its boards and namespaces are selected by label. */
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

/** The kubelets' Leases. Every other Lease has one reader, which gets it by name. */
const nodeLeases: Selection = { namespace: "kube-node-lease", metadataOnly: true };

export function selectionOf(resource: Resource<KubeObject>, { nodeSelector, namespaceSelector }: SiteScope): Selection {
  if (isSame(resource, nodes)) return labelled(nodeSelector);
  if (isSame(resource, namespaces)) return labelled(namespaceSelector);
  return isSame(resource, leases) ? nodeLeases : {};
}

/**
 * Pods do not carry the labels of their board, so a site that is not the whole cluster watches them board by board: the
 * pods of a cluster of a thousand boards would not fit through the link of one site.
 */
export const isByBoard = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, pods);

export const onBoard = (board: string): Selection => ({ fieldSelector: `spec.nodeName=${board}` });

/** Unbound pods: those of the site's namespaces will run on its boards. */
export const notBound = onBoard("");

/** Whether unbound pods concern this site when pods are watched board by board. */
export const hasNamespaces = ({ namespaceSelector }: SiteScope): boolean => namespaceSelector !== undefined;

/** Resources that belong to a site by their namespace. */
export const isWorkload = (resource: Resource<KubeObject>): boolean => workloads.some((one) => isSame(one, resource));

const workloads: readonly Resource<KubeObject>[] = [
  daemonSets,
  controllerRevisions,
  services,
  endpoints,
  endpointSlices,
];

/**
 * Leases do not carry the boards' labels either, but are small: those of other sites' boards are dropped on arrival.
 */
export const isOfBoards = (resource: Resource<KubeObject>, { nodeSelector }: SiteScope): boolean =>
  nodeSelector !== undefined && isSame(resource, leases);

/** With a label selector, DELETED only means that the object is no longer selected. */
export const mayBeReleased = ({ labelSelector }: Selection): boolean => labelSelector !== undefined;

/**
 * The cache's name for the mirror of a resource. Another scope has another name, because position and objects do not
 * carry over. Caches kept board by board append the name of the board.
 */
export function storedName(resource: Resource<KubeObject>, scope: SiteScope): string {
  const { labelSelector } = selectionOf(resource, scope);
  const by = isByBoard(resource, scope) || isOfBoards(resource, scope) ? scope.nodeSelector : labelSelector;
  return by === undefined ? resourceName(resource) : `${resourceName(resource)}[${by}]`;
}

const isSame = (a: Resource<KubeObject>, b: Resource<KubeObject>): boolean => resourceName(a) === resourceName(b);

const labelled = (labelSelector: string | undefined): Selection =>
  labelSelector === undefined ? {} : { labelSelector };
