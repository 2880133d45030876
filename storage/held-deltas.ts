import type { DeltaRow } from "./collapse.ts";
import { type Delta, identityOf, type Key, keyOf, type StoredObject } from "./object.ts";

/** A delta with its object in memory; one in the journal has a text instead. */
export interface HeldRow<T> extends DeltaRow {
  readonly object: T;
}

/**
 * Groups deltas that never went through the journal by key, in the order in which the journal would return them. As in
 * the journal, of two deletions in a row the older is kept.
 */
export function heldRows<T extends StoredObject>(deltas: readonly Delta<T>[]): ReadonlyMap<Key, readonly HeldRow<T>[]> {
  const byKey = new Map<Key, HeldRow<T>[]>();
  for (const { type, object } of deltas) {
    const key = keyOf(object);
    const rows = byKey.get(key);
    const row = { type, object, bytes: 0, ...identityOf(object) };
    if (rows === undefined) byKey.set(key, [row]);
    else if (type !== "Deleted" || rows.at(-1)?.type !== "Deleted") rows.push(row);
  }
  return byKey;
}
