import type { Node } from "../../api/core.ts";
import { boardLeaseKey, leases } from "../../api/resources.ts";
import type { SilenceFacts } from "../../decisions/grounds.ts";
import { silenceFacts } from "../../judgement/ruling.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type Circumstances, examine, type WordOf } from "./health.ts";
import type { BoardRecord } from "./memory.ts";

/**
 * The verdict that a monitor pass would give now, with its evidence. May differ from the last monitor pass's verdict,
 * because the board may have reported since.
 */
export function verdictNow(
  node: Node,
  record: BoardRecord,
  site: SiteView,
  { wordOf, ...circumstances }: Omit<Circumstances, "now"> & { readonly wordOf: WordOf },
): SilenceFacts {
  const { name, resourceVersion } = node.metadata;
  const lease = site.lister(leases).get(boardLeaseKey(name))?.metadata.resourceVersion;
  const sighting = { node, cached: resourceVersion, lease, word: wordOf(name) };
  const { verdict, evidence } = examine(record.health, sighting, { ...circumstances, now: site.now });
  return silenceFacts(verdict, evidence);
}
