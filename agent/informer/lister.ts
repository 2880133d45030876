import type { IndexReader } from "../../storage/indexer/indexer.ts";

/**
 * The read side of one resource's cache, for controllers. Objects are decoded one at a time, and no SQL statement stays
 * open between two of them.
 */
export type Lister<T> = IndexReader<T>;
