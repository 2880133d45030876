import type { Node } from "../../api/core.ts";
import { boardLeaseKey, leases } from "../../api/resources.ts";
import type { SilenceFacts } from "../../decisions/grounds.ts";
import { silenceFacts } from "../../judgement/ruling.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type Circumstances, type Examined, examine, type LanAnswerOf } from "./health.ts";
import type { BoardRecord } from "./memory.ts";

type VerdictContext = Omit<Circumstances, "now"> & { readonly wordOf: LanAnswerOf };

/**
 * The verdict that a monitor pass would give now, with its evidence. May differ from the last monitor pass's verdict,
 * because the board may have reported since.
 */
export function verdictNow(node: Node, record: BoardRecord, site: SiteView, context: VerdictContext): SilenceFacts {
  const { verdict, evidence } = examinedNow(node, record, site, context);
  return silenceFacts(verdict, evidence);
}

/** The board as a monitor pass would examine it now. */
export function examinedNow(
  node: Node,
  record: BoardRecord,
  site: SiteView,
  { wordOf, ...circumstances }: VerdictContext,
): Examined {
  const { name, resourceVersion } = node.metadata;
  const lease = site.lister(leases).get(boardLeaseKey(name))?.metadata.resourceVersion;
  const sighting = { node, cached: resourceVersion, lease, lan: wordOf(name) };
  return examine(record.health, sighting, { ...circumstances, now: site.now });
}
