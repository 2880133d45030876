import type { Pod } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { pods } from "../api/resources.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * A pod that was written between the read that condemned it and its deletion, read past the cache, which may be as far
 * behind the next time. One that is gone, or has another uid, stays as it was cached: the watch brings what became of it.
 */
export async function asItIsNow(cached: Pod, site: SiteView): Promise<Pod> {
  const live = await site.fetch(pods, keyOf(cached));
  return live?.metadata.uid === cached.metadata.uid ? live : cached;
}
