import type { KubeObject } from "../api/meta.ts";
import { controlledBy, controllerOf } from "../api/owners.ts";
import type { Resource } from "../api/resources.ts";
import { type Action, anyStateOf, type ObjectRef } from "../execution/actions.ts";

/**
 * What to do with an object that an owner may control (docs/kubernetes-rules.md#claiming). keep: the owner controls it
 * already. adopt: it matches and has no controller. release: it no longer matches. leave: it is not the owner's.
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

/** Checks the owner as read from the API before adopting: the cache may show one that is gone. */
export const mayAdopt = (owner: KubeObject, live: KubeObject | undefined): boolean =>
  live?.metadata.uid === owner.metadata.uid && live.metadata.deletionTimestamp === undefined;

/** `resource`: the owner's. The object's uid is the only precondition: other changes do not matter. */
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
