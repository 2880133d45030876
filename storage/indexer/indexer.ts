import type { Key, StoredObject } from "../object.ts";
import { ObjectTable, type ObjectTableDeps } from "./object-table.ts";

/** The read side of one resource's objects. They are shared and must not be changed. */
export interface IndexReader<T> {
  get(key: Key): T | undefined;
  /** All objects in key order. A change made during the walk is visible if the walk has not reached its key yet. */
  list(): IterableIterator<T>;
  /** The objects with the value, in key order. Objects that lose the value during the walk are skipped. */
  byIndex(index: string, value: string): IterableIterator<T>;
  /**
   * The identities of the objects with the value, in key order; decodes no object. Each object had the value in the
   * returned version.
   */
  referencesByIndex(index: string, value: string): IterableIterator<StoredObject>;
  /** The values that at least one object has, in order. Decodes no object. */
  indexValues(index: string): IterableIterator<string>;
  /** The number of objects with the value. Decodes no object. */
  countByIndex(index: string, value: string): number;
  readonly size: number;
}

/**
 * The readers' view of an ObjectTable: all of it or, between `hide` and `show`, nothing. The objects of an unfinished
 * first list are hidden.
 */
export class Indexer<T extends StoredObject> implements IndexReader<T> {
  /** For the DeltaFIFO, whose decisions depend on the rows even while they are hidden. */
  readonly table: ObjectTable<T>;
  #isHidden = false;

  constructor(deps: ObjectTableDeps<T>) {
    this.table = new ObjectTable(deps);
  }

  hide(): void {
    this.#isHidden = true;
  }

  show(): void {
    this.#isHidden = false;
  }

  get(key: Key): T | undefined {
    return this.#visible?.get(key);
  }

  *list(): IterableIterator<T> {
    yield* this.#visible?.list() ?? [];
  }

  *byIndex(index: string, value: string): IterableIterator<T> {
    yield* this.#visible?.byIndex(index, value) ?? [];
  }

  *referencesByIndex(index: string, value: string): IterableIterator<StoredObject> {
    yield* this.#visible?.referencesByIndex(index, value) ?? [];
  }

  *indexValues(index: string): IterableIterator<string> {
    yield* this.#visible?.indexValues(index) ?? [];
  }

  countByIndex(index: string, value: string): number {
    return this.#visible?.countByIndex(index, value) ?? 0;
  }

  get size(): number {
    return this.#visible?.size ?? 0;
  }

  get #visible(): ObjectTable<T> | undefined {
    return this.#isHidden ? undefined : this.table;
  }
}
