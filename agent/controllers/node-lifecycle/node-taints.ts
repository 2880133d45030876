import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { refTo } from "../../execution/actions.ts";
import { type Controller, type Decision, type Seen, wake } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import { laggingLabels, scheduledTaints } from "./taints.ts";

/**
 * Sets the NoSchedule taints that follow from conditions and cordon, and keeps the beta label names in step with the
 * stable ones. Neither harmful nor rate-limited. A failed write is retried; kube-controller-manager waits for the next
 * change of the Node.
 */
export const nodeTaints: Controller<Node, undefined> = {
  name: "node-taints",
  reads: [nodes],
  wakes: [{ ...wake(nodes, ({ key }) => [key]), isUrgent: isComingBack }],
  initialMemory: undefined,
  observe: (name, site) => site.lister(nodes).get(name),
  decide: decideNodeTaints,
};

/** Urgent if a board became ready, since pods wait for it; a taint on one of thousands of silent boards is not. */
function isComingBack({ before, after }: Seen<Node>): boolean {
  const isReady = (node: Node): boolean => readyOf(node)?.status === "True";
  return before !== undefined && after !== undefined && !isReady(before) && isReady(after);
}

/** One patch for both: a second one would conflict with the version that the first created. */
export function decideNodeTaints(node: Node, memory: undefined, now: Instant): Decision<undefined> {
  const taints = scheduledTaints(node, now);
  const labels = laggingLabels(node);
  if (taints === undefined && labels === undefined) return { actions: [], memory };
  const patch = { ...(labels && { metadata: { labels } }), ...(taints && { spec: { taints } }) };
  return { actions: [{ do: "patch", target: refTo(nodes, node), type: "merge", patch }], memory };
}
