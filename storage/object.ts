/** "namespace/name", or "name" if there is no namespace. */
export type Key = string;

/** The part of a Kubernetes object that storage depends on. */
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

/**
 * `before` is undefined if the object was added. `after` is undefined if it was deleted; `before` is then its last
 * known state.
 */
export interface Change<T> {
  readonly key: Key;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** Set for a deletion if `before` is newer than the state that listeners know: that state. */
  readonly known?: T;
}

/** Computes the values of one named index for an object. */
export type IndexFunction<T> = (object: T) => readonly string[];
export type IndexFunctions<T> = Readonly<Record<string, IndexFunction<T>>>;

export const keyOf = ({ metadata: { namespace, name } }: StoredObject): Key =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

/** Identifies one state of an object; states with equal fields are the same. */
export interface Identity {
  readonly uid: string;
  readonly version: string;
}

export const identityOf = ({ metadata: { uid, resourceVersion } }: StoredObject): Identity => ({
  uid,
  version: resourceVersion,
});

/** An object with this key and identity, and no content. */
export function referenceTo(key: Key, { uid, version }: Identity): StoredObject {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  return { metadata: { ...(slash >= 0 && { namespace: key.slice(0, slash) }), name, uid, resourceVersion: version } };
}

export const isSame = (a: Identity, b: Identity): boolean => a.uid === b.uid && a.version === b.version;
