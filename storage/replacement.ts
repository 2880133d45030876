import type { Indexer } from "./indexer.ts";
import type { Journal } from "./journal.ts";
import type { Key, StoredObject } from "./object.ts";

/** A new list of everything, page by page. Nothing of it shows before `commit`; a power cut before leaves what was. */
export interface Replacement<T> {
  /** One transaction per page. */
  page(objects: readonly T[]): void;
  /**
   * After the last page: a step of the search for what was not listed, in a transaction of bounded size, and whether there
   * is more. `commit` does what is left of it.
   */
  bury(): boolean;
  /** The end, in one transaction: the pages, deletions of what was not listed, and the position. */
  commit(resourceVersion: string): void;
  abort(): void;
}

/** What a transaction of a DeltaFIFO writes besides its work. What is left out stays as it is. */
export interface Next<T> {
  readonly position?: string;
  readonly populated?: boolean;
  readonly quiet?: ReadonlyMap<Key, T>;
}

/** What a list under way needs of its DeltaFIFO. */
export interface ListHost<T extends StoredObject> {
  readonly journal: Journal;
  readonly indexer: Indexer<T>;
  isQuiet(stored: T, incoming: T): boolean;
  /** False once the list was committed or given up, or the next one has begun. */
  isUnderWay(list: Replacement<T>): boolean;
  write<R>(next: Next<T>, work: () => R): R;
  /** Writes the end of the list. `untold`: so many stored objects appear with it. */
  commit(next: Next<T>, untold: number, work: () => void): void;
  /** Drops the list under way. */
  drop(): void;
}

export function assertUnderWay<T extends StoredObject>(host: ListHost<T>, list: Replacement<T>): void {
  if (!host.isUnderWay(list)) throw new Error("this Replace has ended");
}
