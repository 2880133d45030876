import type { Pod } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { pods } from "../api/resources.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * Reads a pod from the API after its deletion met a conflict, because the cache may still be behind. Returns the cached
 * pod if the pod was deleted or recreated; the watch will deliver that change.
 */
export async function livePod(cached: Pod, site: SiteView): Promise<Pod> {
  const live = await site.fetch(pods, keyOf(cached));
  return live?.metadata.uid === cached.metadata.uid ? live : cached;
}
