import type { Node } from "../../api/core.ts";
import { leases } from "../../api/resources.ts";
import type { Link } from "../../judgement/link.ts";
import type { Verdict } from "../../judgement/verdict.ts";
import type { SiteView } from "../../runtime/controller.ts";
import { examine } from "./health.ts";
import type { BoardRecord } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

/** As a monitor pass would judge right now: since the last one the board may have spoken. */
export function verdictNow(
  node: Node,
  record: BoardRecord,
  site: SiteView,
  { link, settings }: { readonly link: Link; readonly settings: NodeLifecycleSettings },
): Verdict {
  const { name, resourceVersion } = node.metadata;
  const lease = site.lister(leases).get(`kube-node-lease/${name}`)?.metadata.resourceVersion;
  return examine(record.health, { node, cached: resourceVersion, lease }, { link, settings, now: site.now }).verdict;
}
