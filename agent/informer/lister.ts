/** The read side of one resource's cache, for controllers. Objects are shared and must not be changed. */
export interface Lister<T> {
  get(key: string): T | undefined;
  /** By key order, decoded one at a time; no statement stays open across a yield. */
  list(): IterableIterator<T>;
  byIndex(index: string, value: string): IterableIterator<T>;
  /** The values of an index that at least one object has. Decodes no object. */
  indexValues(index: string): IterableIterator<string>;
  /** The number of objects with a value of an index. Decodes no object. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}
