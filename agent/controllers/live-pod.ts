import type { Pod } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { pods } from "../api/resources.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * Reads a cached pod from the API, because the cache may be behind. "gone": it was deleted, even if another pod has its
 * name by now; the watch will deliver that change.
 */
export async function livePod({ metadata }: Pod, site: SiteView): Promise<Pod | "gone"> {
  const live = await site.fetch(pods, keyOf({ metadata }));
  return live?.metadata.uid === metadata.uid ? live : "gone";
}
