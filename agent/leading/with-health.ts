import type { WatchHealth } from "../informer/watch-health.ts";
import type { Cache } from "../loop/site-view.ts";

/**
 * The cache, with the health of its watch as `healthOf` sees it. The health is computed on each access, because it
 * changes with every event.
 */
export const withHealth = <T>(cache: Cache<T>, healthOf: (watch: WatchHealth) => WatchHealth): Cache<T> => ({
  lister: cache.lister,
  get health() {
    return healthOf(cache.health);
  },
  get position() {
    return cache.position;
  },
  onChange: (listen) => cache.onChange(listen),
});
