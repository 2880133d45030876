import type { Database } from "./database.ts";
import { StorageError } from "./errors.ts";
import { Memo } from "./memo.ts";

/** carryBack skips this area: it concerns a file, not the board. */
const [area, key] = ["cache", "file"] as const;

/**
 * Ties a cache to the state.db beside which it was filled: both store the cache's number. Without it, facts in state.db
 * about the cache (for example, the cluster it was filled from) would be applied to any file of that name: one of
 * another board, another site or an earlier time.
 *
 * Returns why this cache must not be used; undefined if it is ours from now on.
 */
export function foreignCache(state: Database, cache: Database): StorageError | undefined {
  const memo = new Memo(state);
  const wanted = memo.get(area, key);
  const found = cache.fresh<{ number: string }>("SELECT number FROM owner").get()?.number;
  if (found !== undefined && found === wanted) return undefined;
  // An empty cache counts as new; a file from a version without numbers is adopted once.
  if (isEmpty(cache) || (found === undefined && wanted === undefined)) {
    const { number } = cache.fresh<{ number: string }>("SELECT lower(hex(randomblob(16))) AS number").get() ?? {};
    if (number === undefined) throw new Error("SQLite made no random number");
    cache.fresh("INSERT OR REPLACE INTO owner (id, number) VALUES (0, ?)").run(number);
    memo.set(area, key, number);
    // Checkpoint, so that the numbers do not depend on the logs: losing one costs a list of the whole site.
    for (const database of [state, cache]) database.checkpoint();
    return undefined;
  }
  return new StorageError("foreign", { file: cache.file });
}

const isEmpty = (cache: Database): boolean => cache.fresh("SELECT 1 FROM resources LIMIT 1").get() === undefined;
