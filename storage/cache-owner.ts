import type { Database } from "./database.ts";
import { StorageError } from "./errors.ts";
import { Memo } from "./memo.ts";

/** Where carryBack leaves it alone: it is about a file, not about the board. */
const [area, key] = ["cache", "file"] as const;

/**
 * Ties a cache to the state.db that it was filled beside: both hold the number of the cache. What the state says of the
 * cache, for example from which cluster it was filled, is otherwise taken to be true of any file of that name: that of
 * another board, of another site, or of another time.
 *
 * Answers why this cache must not be used; undefined: it is ours from now on.
 */
export function foreignCache(state: Database, cache: Database): StorageError | undefined {
  const memo = new Memo(state);
  const wanted = memo.get(area, key);
  const found = cache.fresh<{ number: string }>("SELECT number FROM owner").get()?.number;
  if (found !== undefined && found === wanted) return undefined;
  // A file that holds nothing is as good as a new one; one of a version without numbers is taken over once.
  if (isEmpty(cache) || (found === undefined && wanted === undefined)) {
    const { number } = cache.fresh<{ number: string }>("SELECT lower(hex(randomblob(16))) AS number").get() ?? {};
    if (number === undefined) throw new Error("SQLite made no random number");
    cache.fresh("INSERT OR REPLACE INTO owner (id, number) VALUES (0, ?)").run(number);
    memo.set(area, key, number);
    // In the files themselves, whatever becomes of their logs: a number that is lost costs a list of the whole site.
    for (const database of [state, cache]) database.checkpoint();
    return undefined;
  }
  return new StorageError("foreign", { file: cache.file });
}

const isEmpty = (cache: Database): boolean => cache.fresh("SELECT 1 FROM resources LIMIT 1").get() === undefined;
