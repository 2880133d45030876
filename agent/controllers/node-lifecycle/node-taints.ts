import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { refTo } from "../../execution/actions.ts";
import { type Controller, type Decision, type Seen, wake } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import { laggingLabels, scheduledTaints } from "./taints.ts";

/**
 * Keeps pods from being scheduled where conditions speak against it, and old label names in step with the stable ones.
 * Neither harmful nor limited; a write that failed is tried again, where kube-controller-manager waits for the next
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

/** Pods wait for a board that became ready; nobody waits for a taint on one of thousands that fell silent. */
function isComingBack({ before, after }: Seen<Node>): boolean {
  const isReady = (node: Node): boolean => readyOf(node)?.status === "True";
  return before !== undefined && after !== undefined && !isReady(before) && isReady(after);
}

/** One patch for both: the second of two would meet the version that the first one left behind. */
export function decideNodeTaints(node: Node, memory: undefined, now: Instant): Decision<undefined> {
  const taints = scheduledTaints(node, now);
  const labels = laggingLabels(node);
  if (taints === undefined && labels === undefined) return { actions: [], memory };
  const patch = { ...(labels && { metadata: { labels } }), ...(taints && { spec: { taints } }) };
  return { actions: [{ do: "patch", target: refTo(nodes, node), type: "merge", patch }], memory };
}
