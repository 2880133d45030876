import type { Database } from "./database/database.ts";
import { StorageError } from "./errors.ts";
import { Memo } from "./memo.ts";

/**
 * Memo entry for the number of the cache. The area describes one particular cache file, so `carryBack` does not copy
 * it.
 */
const [area, key] = ["cache", "file"] as const;

/**
 * Ties a cache to the state.db next to which it was filled, by the same random number in both. Without it, facts in
 * state.db about the cache (for example, the cluster from which it was filled) would be applied to any file of that
 * name, even one from another board, another site or an earlier time.
 *
 * Returns the reason why the cache must not be used; undefined if it may be used and now belongs to this state.db.
 */
export function foreignCache(state: Database, cache: Database): StorageError | undefined {
  const memo = new Memo(state);
  const wanted = memo.get(area, key);
  const found = cache.prepareOnce<{ number: string }>("SELECT number FROM owner").get()?.number;
  if (found !== undefined && found === wanted) return undefined;
  // An empty cache counts as new. A cache written before such numbers existed is accepted once.
  if (isEmpty(cache) || (found === undefined && wanted === undefined)) {
    const { number } = cache.prepareOnce<{ number: string }>("SELECT lower(hex(randomblob(16))) AS number").get() ?? {};
    if (number === undefined) throw new Error("SQLite returned no random number");
    cache.prepareOnce("INSERT OR REPLACE INTO owner (id, number) VALUES (0, ?)").run(number);
    memo.set(area, key, number);
    // Checkpointed, because losing the number together with a log would cost a list of the whole site.
    for (const database of [state, cache]) database.checkpoint();
    return undefined;
  }
  return new StorageError("foreign", { file: cache.file });
}

const isEmpty = (cache: Database): boolean => cache.prepareOnce("SELECT 1 FROM resources LIMIT 1").get() === undefined;
