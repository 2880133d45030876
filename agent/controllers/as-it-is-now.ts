import type { Pod } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { pods } from "../api/resources.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * Reads a pod past the cache whose deletion met a newer version; the cache might still be behind. A pod that is gone or
 * was recreated is returned as cached: the watch will deliver the change.
 */
export async function asItIsNow(cached: Pod, site: SiteView): Promise<Pod> {
  const live = await site.fetch(pods, keyOf(cached));
  return live?.metadata.uid === cached.metadata.uid ? live : cached;
}
