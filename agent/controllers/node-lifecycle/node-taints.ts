import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { refTo } from "../../execution/actions.ts";
import { type Controller, type Decision, enqueueOn, type ObjectChange } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import { laggingLabels, scheduledTaints } from "./taints.ts";

/**
 * Sets the NoSchedule taints that follow from a Node's conditions and cordon, and copies the stable labels to their
 * beta names. These writes are not harmful and not rate-limited. A failed write is retried; kube-controller-manager
 * waits for the next change of the Node.
 */
export const nodeTaints: Controller<Node, undefined> = {
  name: "node-taints",
  reads: [nodes],
  mappings: [{ ...enqueueOn(nodes, ({ key }) => [key]), isUrgent: isComingBack }],
  initialMemory: undefined,
  observe: (name, site) => site.lister(nodes).get(name),
  decide: decideNodeTaints,
};

/**
 * Whether the board became ready. This is urgent, because pods wait for it; tainting thousands of silent boards is not.
 */
function isComingBack({ before, after }: ObjectChange<Node>): boolean {
  const isReady = (node: Node): boolean => readyOf(node)?.status === "True";
  return before !== undefined && after !== undefined && !isReady(before) && isReady(after);
}

/**
 * Writes taints and labels in one patch: a second patch would conflict with the first, which changes the
 * resourceVersion.
 */
export function decideNodeTaints(node: Node, memory: undefined, now: Instant): Decision<undefined> {
  const taints = scheduledTaints(node, now);
  const labels = laggingLabels(node);
  if (taints === undefined && labels === undefined) return { actions: [], memory };
  const patch = { ...(labels && { metadata: { labels } }), ...(taints && { spec: { taints } }) };
  return { actions: [{ do: "patch", target: refTo(nodes, node), type: "merge", patch }], memory };
}
