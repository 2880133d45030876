import type {
  ControllerRevision,
  DaemonSet,
  EndpointSlice,
  Endpoints,
  Event,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Service,
} from "./core.ts";
import type { KubeObject, NewMeta, NewObject } from "./meta.ts";

/** A kind that this program handles, and its place in the API. `group` is "" for the core group. */
export interface Resource<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set; exists only in the type system, so that `T` is inferred from a resource. */
  readonly object?: T;
}

const resource = <T extends KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): Resource<T> => {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { group: group ?? "", version: version ?? "", kind, plural, namespaced };
};

export const nodes = resource<Node>("v1", "Node", "nodes", false);
export const pods = resource<Pod>("v1", "Pod", "pods", true);
export const namespaces = resource<Namespace>("v1", "Namespace", "namespaces", false);
export const persistentVolumes = resource<PersistentVolume>("v1", "PersistentVolume", "persistentvolumes", false);
export const persistentVolumeClaims = resource<PersistentVolumeClaim>(
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  true,
);
export const events = resource<Event>("v1", "Event", "events", true);
export const leases = resource<Lease>("coordination.k8s.io/v1", "Lease", "leases", true);
export const replicaSets = resource<ReplicaSet>("apps/v1", "ReplicaSet", "replicasets", true);

export const daemonSets = resource<DaemonSet>("apps/v1", "DaemonSet", "daemonsets", true);
export const controllerRevisions = resource<ControllerRevision>(
  "apps/v1",
  "ControllerRevision",
  "controllerrevisions",
  true,
);
export const services = resource<Service>("v1", "Service", "services", true);
export const endpoints = resource<Endpoints>("v1", "Endpoints", "endpoints", true);
export const endpointSlices = resource<EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true);

/** The namespace of the Leases that kubelets renew, each named like its Node. */
export const boardLeaseNamespace = "kube-node-lease";

/** The key of a board's Lease in a cache. */
export const boardLeaseKey = (board: string): string => `${boardLeaseNamespace}/${board}`;

export const apiVersionOf = ({ group, version }: Resource<KubeObject>): string =>
  group === "" ? version : `${group}/${version}`;

/** An object to create, with the resource's kind and apiVersion added. */
export const newObject = <T extends KubeObject>(
  resource: Resource<T>,
  object: Omit<T, keyof KubeObject> & { readonly metadata: NewMeta },
): NewObject => ({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...object });

/** "nodes", "leases.coordination.k8s.io": a name for logs, status and storage. */
export const resourceName = ({ group, plural }: Resource<KubeObject>): string =>
  group === "" ? plural : `${plural}.${group}`;

/** The URL path of a collection, of one object (`name`), or of a subresource of that object. */
export function pathOf(
  { group, version, plural, namespaced }: Resource<KubeObject>,
  at: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string } = {},
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespaced && at.namespace !== undefined ? `/namespaces/${encodeURIComponent(at.namespace)}` : "";
  const name = at.name === undefined ? "" : `/${encodeURIComponent(at.name)}`;
  return `${root}${place}/${plural}${name}${at.subresource === undefined ? "" : `/${at.subresource}`}`;
}
