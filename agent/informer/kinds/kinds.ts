import type { IndexFunctions } from "../../../storage/object.ts";
import type { KubeObject } from "../../api/meta.ts";
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
} from "../../api/resources.ts";
import { daemonSetIndices, podIndices, revisionIndices, serviceIndices, sliceIndices } from "./indexes.ts";
import { isLeaseRenewal, isNodeHeartbeat } from "./quiet.ts";
import { trimAny, trimDaemonSet, trimLease, trimNode, trimPod, trimService } from "./trim.ts";
import { unreadPod } from "./unread.ts";

/** How the objects of a resource are stored. */
export interface Kind<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** Drops the fields that no controller reads. */
  readonly trim: (object: T) => T;
  /**
   * The state to assume for an object whose newest state cannot be read, derived from its last readable state. If
   * absent, the last readable state is kept.
   */
  readonly unread?: (last: T) => T;
  /**
   * True if the two states differ only in a heartbeat. Such a change is neither written to disk nor reported to
   * listeners.
   */
  readonly isQuiet?: (stored: T, incoming: T) => boolean;
  readonly indices: IndexFunctions<T>;
}

/** Checks that the functions of a kind have the type of its objects. */
const kind = <T extends KubeObject>(known: Kind<T>): Kind<T> => known;

const kinds = [
  kind({ resource: pods, trim: trimPod, unread: unreadPod, indices: podIndices }),
  kind({ resource: nodes, trim: trimNode, isQuiet: isNodeHeartbeat, indices: {} }),
  kind({ resource: leases, trim: trimLease, isQuiet: isLeaseRenewal, indices: {} }),
  kind({ resource: daemonSets, trim: trimDaemonSet, indices: daemonSetIndices }),
  kind({ resource: controllerRevisions, trim: trimAny, indices: revisionIndices }),
  kind({ resource: services, trim: trimService, indices: serviceIndices }),
  kind({ resource: endpointSlices, trim: trimAny, indices: sliceIndices }),
] as const;

export function kindOf<T extends KubeObject>(resource: Resource<T>): Kind<T> {
  const known: unknown = kinds.find((kind) => resourceName(kind.resource) === resourceName(resource));
  // The entry found by a resource's name has that resource's type of objects.
  return (known as Kind<T> | undefined) ?? { resource, trim: trimAny, indices: {} };
}
