import type { KubeObject } from "../api/meta.ts";
import { controlledBy, controllerOf } from "../api/owners.ts";
import type { Resource } from "../api/resources.ts";
import { type Action, anyStateOf, type ObjectRef } from "../execution/actions.ts";

/**
 * How an owner treats an object that it may control (docs/kubernetes-rules.md#claiming). keep: the owner controls the
 * object already. adopt: the object matches and has no controller. release: the owner controls it, but it no longer
 * matches. leave: the owner does not control it and may not adopt it.
 */
export type ClaimDecision = "keep" | "adopt" | "release" | "leave";

export function claimOf(owner: KubeObject, object: KubeObject, matches: boolean): ClaimDecision {
  const controller = controllerOf(object);
  const isEnding = owner.metadata.deletionTimestamp !== undefined;
  if (controller === undefined) {
    return matches && !isEnding && object.metadata.deletionTimestamp === undefined ? "adopt" : "leave";
  }
  if (controller.uid !== owner.metadata.uid) return "leave";
  if (matches) return "keep";
  return isEnding ? "leave" : "release";
}

/** Checks the owner as read from the API (`live`) before an adoption: the cached one may no longer exist. */
export const mayAdopt = (owner: KubeObject, live: KubeObject | undefined): boolean =>
  live?.metadata.uid === owner.metadata.uid && live.metadata.deletionTimestamp === undefined;

/**
 * The write that makes `owner`, an object of `resource`, the controller of `object`. The patch requires only the uid of
 * `object`, not its resourceVersion, because other changes do not matter.
 */
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
