import type { KubeObject, OwnerReference } from "./meta.ts";
import { apiVersionOf, type Resource } from "./resources.ts";

/** The owner reference marked `controller: true`, if there is one. */
export const controllerOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** Compares uids, never names, because an owner that was deleted and recreated under its name is a different object. */
export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

/** The reference to set on objects that an owner creates or adopts. */
export const controlledBy = (resource: Resource<KubeObject>, { metadata }: KubeObject): OwnerReference => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});
