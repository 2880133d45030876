import type { Indexer } from "./indexer.ts";
import { type Delta, type Key, keyOf, type StoredObject } from "./object.ts";

/** A group of deltas, apart: what is worth a write, in its order, and the newest states that are not. */
export interface Sorted<T> {
  readonly loud: readonly Delta<T>[];
  readonly quiet: ReadonlyMap<Key, T>;
}

/**
 * Tells apart what is worth a write from what is not, and leaves out what means nothing: the deletion of an object that is
 * neither stored nor waits. Once a key was loud the rest of its deltas is too, so that they stay in their order.
 */
export function sortDeltas<T extends StoredObject>(
  deltas: readonly Delta<T>[],
  known: {
    readonly indexer: Indexer<T>;
    /** Something of this key lies in the journal. */
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
