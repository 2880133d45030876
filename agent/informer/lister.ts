import type { KubeObject } from "../api/meta.ts";

/** The read side of one resource's cache, for controllers. Objects are shared and must not be changed. */
export interface Lister<T> {
  get(key: string): T | undefined;
  /** All objects in key order, decoded one at a time. No SQL statement stays open between two objects. */
  list(): IterableIterator<T>;
  /** The objects with a value of an index, in key order and decoded one at a time, as in `list`. */
  byIndex(index: string, value: string): IterableIterator<T>;
  /** Name, uid and resourceVersion of the objects with a value of an index, in key order. Decodes no object. */
  referencesByIndex(index: string, value: string): IterableIterator<KubeObject>;
  /** The values of an index that at least one object has. Decodes no object. */
  indexValues(index: string): IterableIterator<string>;
  /** The number of objects with a value of an index. Decodes no object. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}
