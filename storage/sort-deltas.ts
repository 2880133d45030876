import type { Indexer } from "./indexer.ts";
import { type Delta, type Key, keyOf, type StoredObject } from "./object.ts";

/** A group of deltas, sorted: those worth a write, in order, and the newest states that are not. */
export interface Sorted<T> {
  readonly loud: readonly Delta<T>[];
  readonly quiet: ReadonlyMap<Key, T>;
}

/**
 * Separates deltas worth a write from quiet ones, and drops deletions of objects that are neither stored nor pending.
 * Once a key is loud, the rest of its deltas is too, so that they stay in order.
 */
export function sortDeltas<T extends StoredObject>(
  deltas: readonly Delta<T>[],
  known: {
    readonly indexer: Indexer<T>;
    /** The journal holds a delta of this key. */
    readonly waits: (key: Key) => boolean;
    readonly isQuiet: ((stored: T, incoming: T) => boolean) | undefined;
  },
): Sorted<T> {
  const { indexer, waits, isQuiet } = known;
  const loud: Delta<T>[] = [];
  const keys = new Set<Key>();
  const quiet = new Map<Key, T>();
  for (const delta of deltas) {
    const key = keyOf(delta.object);
    const isFollowed = keys.has(key) || waits(key);
    if (delta.type === "Deleted") {
      if (!isFollowed && indexer.identity(key) === undefined) continue;
    } else if (!isFollowed && isQuiet !== undefined) {
      const stored = quiet.get(key) ?? indexer.get(key);
      if (stored !== undefined && isQuiet(stored, delta.object)) {
        quiet.set(key, delta.object);
        continue;
      }
    }
    loud.push(delta);
    keys.add(key);
  }
  return { loud, quiet };
}
