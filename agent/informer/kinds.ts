import type { IndexFunctions } from "../../storage/object.ts";
import type { KubeObject } from "../api/meta.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  leases,
  nodes,
  pods,
  type Resource,
  resourceName,
  services,
} from "../api/resources.ts";
import { daemonSetIndices, podIndices, revisionIndices, serviceIndices, sliceIndices } from "./indexes.ts";
import { isLeaseRenewal, isNodeHeartbeat } from "./quiet.ts";
import { trimAny, trimDaemonSet, trimLease, trimNode, trimPod } from "./trim.ts";

/** How the objects of a resource are stored. */
export interface Kind<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly trim: (object: T) => T;
  /** True if the change is not worth a write or a wake: a heartbeat. */
  readonly isQuiet?: (stored: T, incoming: T) => boolean;
  readonly indices: IndexFunctions<T>;
}

/** Ties a kind's functions to the type of its objects. */
const kind = <T extends KubeObject>(known: Kind<T>): Kind<T> => known;

const kinds = [
  kind({ resource: pods, trim: trimPod, indices: podIndices }),
  kind({ resource: nodes, trim: trimNode, isQuiet: isNodeHeartbeat, indices: {} }),
  kind({ resource: leases, trim: trimLease, isQuiet: isLeaseRenewal, indices: {} }),
  kind({ resource: daemonSets, trim: trimDaemonSet, indices: daemonSetIndices }),
  kind({ resource: controllerRevisions, trim: trimAny, indices: revisionIndices }),
  kind({ resource: services, trim: trimAny, indices: serviceIndices }),
  kind({ resource: endpointSlices, trim: trimAny, indices: sliceIndices }),
] as const;

export function kindOf<T extends KubeObject>(resource: Resource<T>): Kind<T> {
  const known: unknown = kinds.find((kind) => resourceName(kind.resource) === resourceName(resource));
  // The entry of this resource has its type of objects.
  return (known as Kind<T> | undefined) ?? { resource, trim: trimAny, indices: {} };
}
