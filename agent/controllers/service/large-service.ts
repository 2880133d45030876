import { services } from "../../api/resources.ts";
import type { SiteView } from "../../loop/controller.ts";

/** Maximum length of an ordinary service's ports and labels, in characters of JSON; most have a few hundred. */
const maxText = 4096;

/**
 * Whether a pass over the service may hold megabytes, because its ports and labels are repeated in each slice, and for
 * each distinct list of ports among its pods.
 */
export function isLargeService(key: string, site: SiteView): boolean {
  const service = site.lister(services).get(key);
  return service !== undefined && JSON.stringify([service.spec?.ports, service.metadata.labels]).length > maxText;
}
