import type { IndexFunctions } from "../../storage/object.ts";
import type { Lease, Node, Pod } from "../api/core.ts";
import type { KubeObject } from "../api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { podIndices } from "./indexes.ts";
import { isLeaseRenewal, isNodeHeartbeat } from "./quiet.ts";
import { trimAny, trimLease, trimNode, trimPod } from "./trim.ts";

/** How the objects of a resource are kept. */
export interface Kind<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly trim: (object: T) => T;
  /** What changed is not worth a write or a wake: a heartbeat. */
  readonly isQuiet?: (stored: T, incoming: T) => boolean;
  readonly indices: IndexFunctions<T>;
}

const kinds: readonly (Kind<Pod> | Kind<Node> | Kind<Lease>)[] = [
  { resource: pods, trim: trimPod, indices: podIndices },
  { resource: nodes, trim: trimNode, isQuiet: isNodeHeartbeat, indices: {} },
  { resource: leases, trim: trimLease, isQuiet: isLeaseRenewal, indices: {} },
];

export function kindOf<T extends KubeObject>(resource: Resource<T>): Kind<T> {
  const known = kinds.find((kind) => resourceName(kind.resource) === resourceName(resource));
  // The entry of this resource is one for its type of objects.
  return (known as Kind<T> | undefined) ?? { resource, trim: trimAny, indices: {} };
}
