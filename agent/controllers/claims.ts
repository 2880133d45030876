import type { KubeObject } from "../api/meta.ts";
import { controlledBy, controllerOf } from "../api/owners.ts";
import type { Resource } from "../api/resources.ts";
import { type Action, anyStateOf, type ObjectRef } from "../execution/actions.ts";

/**
 * What becomes of an object that an owner may control (docs/kubernetes-rules.md#claiming): keep, it is controlled
 * already; adopt, it is nobody's and matches; release, it does not match any more; leave, it is none of the owner's
 * business.
 */
export type Claim = "keep" | "adopt" | "release" | "leave";

export function claimOf(owner: KubeObject, object: KubeObject, matches: boolean): Claim {
  const controller = controllerOf(object);
  const isEnding = owner.metadata.deletionTimestamp !== undefined;
  if (controller === undefined) {
    return matches && !isEnding && object.metadata.deletionTimestamp === undefined ? "adopt" : "leave";
  }
  if (controller.uid !== owner.metadata.uid) return "leave";
  if (matches) return "keep";
  return isEnding ? "leave" : "release";
}

/** Asked of the owner as the API itself has it now, before anything is adopted: the cache may show one that is gone. */
export const mayAdopt = (owner: KubeObject, live: KubeObject | undefined): boolean =>
  live?.metadata.uid === owner.metadata.uid && live.metadata.deletionTimestamp === undefined;

/** `resource`: that of the owner. The object's uid alone is the precondition: whatever else changed, it is still the one. */
export const adoption = (resource: Resource<KubeObject>, owner: KubeObject, object: ObjectRef): Action => ({
  do: "patch",
  target: anyStateOf(object),
  type: "strategic",
  patch: { metadata: { ownerReferences: [controlledBy(resource, owner)] } },
});

export const release = (owner: KubeObject, object: ObjectRef): Action => ({
  do: "patch",
  target: anyStateOf(object),
  type: "strategic",
  patch: { metadata: { ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }] } },
});
