/** The read side of one resource's cache: what controllers see. Objects are shared: nobody changes them. */
export interface Lister<T> {
  get(key: string): T | undefined;
  /** By key order, decoded one at a time; no statement stays open across a yield. */
  list(): IterableIterator<T>;
  byIndex(index: string, value: string): IterableIterator<T>;
  /** The values of an index that some object has. No object is decoded. */
  indexValues(index: string): IterableIterator<string>;
  /** How many objects have a value of an index. No object is decoded. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}
