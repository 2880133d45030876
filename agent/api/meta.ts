import type { V1ObjectMeta, V1OwnerReference } from "@kubernetes/client-node";

/**
 * A model type of `@kubernetes/client-node` in its JSON form: timestamps are strings, where that library has `Date`.
 * Everything is readonly, because objects from a cache are shared.
 */
export type OnWire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? readonly OnWire<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: OnWire<T[Name]> }
      : T;

/** kubectl's copy of the applied object, which is as long as the object itself. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

export type OwnerReference = OnWire<V1OwnerReference>;

/** Metadata of an object read from an API. `parseObject` has verified the fields that are not optional. */
export type ObjectMeta = OnWire<Omit<V1ObjectMeta, "name" | "uid" | "resourceVersion">> & {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
};

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object to be created: the API fills in the rest. */
export interface NewObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NewMeta;
}

export interface NewMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** "namespace/name", or "name" if there is no namespace. */
export const keyOf = ({
  metadata,
}: {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}): string => (metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`);

/** The namespace in a key of `keyOf`; empty if there is none. */
export const namespaceIn = (key: string): string => key.slice(0, Math.max(0, key.indexOf("/")));

/** The inverse of `keyOf`. */
export function placeIn(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { ...(slash >= 0 && { namespace: key.slice(0, slash) }), name: key.slice(slash + 1) };
}
