/** The read side of one resource's cache: what controllers see. Objects are shared: nobody changes them. */
export interface Lister<T> {
  get(key: string): T | undefined;
  /** By key order, decoded one at a time; no statement stays open across a yield. */
  list(): IterableIterator<T>;
  byIndex(index: string, value: string): IterableIterator<T>;
  readonly size: number;
}
