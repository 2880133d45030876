/** "namespace/name", or "name" where there is no namespace. */
export type Key = string;

/** Everything storage knows of Kubernetes. */
export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

export type DeltaType = "Added" | "Updated" | "Replaced" | "Deleted" | "Sync";

export interface Delta<T> {
  readonly type: DeltaType;
  readonly object: T;
}

/** before = undefined: added. after = undefined: deleted; `before` is the last known state. */
export interface Change<T> {
  readonly key: Key;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Computes the values of one named index for an object. */
export type IndexFunction<T> = (object: T) => readonly string[];
export type IndexFunctions<T> = Readonly<Record<string, IndexFunction<T>>>;

export const keyOf = ({ metadata: { namespace, name } }: StoredObject): Key =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

/** Two states of an object are the same if both fields are equal. */
export interface Identity {
  readonly uid: string;
  readonly version: string;
}

export const identityOf = ({ metadata: { uid, resourceVersion } }: StoredObject): Identity => ({
  uid,
  version: resourceVersion,
});

export const isSame = (a: Identity, b: Identity): boolean => a.uid === b.uid && a.version === b.version;
