import type { Indexer } from "./indexer.ts";
import type { Journal } from "./journal.ts";
import type { Key, StoredObject } from "./object.ts";

/** A new list of everything, page by page. Readers see the old state until `commit`, even after a power cut. */
export interface Replacement<T> {
  /** One transaction per page. */
  page(objects: readonly T[]): void;
  /**
   * After the last page: one step of the search for objects not listed, in a transaction of bounded size. Returns
   * whether more steps remain; `commit` does the rest.
   */
  bury(): boolean;
  /** Ends the list in one transaction: the pages, deletions of objects not listed, and the position. */
  commit(resourceVersion: string): void;
  abort(): void;
}

/** What a transaction of a DeltaFIFO writes besides its work. Omitted fields stay as they are. */
export interface Next<T> {
  readonly position?: string;
  readonly populated?: boolean;
  readonly quiet?: ReadonlyMap<Key, T>;
}

/** What a list under way needs from its DeltaFIFO. */
export interface ListHost<T extends StoredObject> {
  readonly journal: Journal;
  readonly indexer: Indexer<T>;
  isQuiet(stored: T, incoming: T): boolean;
  /** False once the list was committed or dropped, or the next one has begun. */
  isUnderWay(list: Replacement<T>): boolean;
  write<R>(next: Next<T>, work: () => R): R;
  /** Writes the end of the list. `untold`: stored objects that become visible with it and are not reported yet. */
  commit(next: Next<T>, untold: number, work: () => void): void;
  /** Drops the list under way. */
  drop(): void;
}

export function assertUnderWay<T extends StoredObject>(host: ListHost<T>, list: Replacement<T>): void {
  if (!host.isUnderWay(list)) throw new Error("this Replace has ended");
}
