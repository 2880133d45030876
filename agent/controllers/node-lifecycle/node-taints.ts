import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { refTo } from "../../runtime/actions.ts";
import { type Controller, type Decision, wake } from "../../runtime/controller.ts";
import { laggingLabels, scheduledTaints } from "./taints.ts";

/**
 * Keeps pods from being scheduled where conditions speak against it, and old label names in step with the stable ones.
 * Neither harmful nor limited; a write that failed is tried again, where kube-controller-manager waits for the next
 * change of the Node.
 */
export const nodeTaints: Controller<Node, undefined> = {
  name: "node-taints",
  reads: [nodes],
  wakes: [wake(nodes, ({ key }) => [key])],
  initialMemory: undefined,
  observe: (name, site) => site.lister(nodes).get(name),
  decide: decideNodeTaints,
};

/** One patch for both: the second of two would meet the version that the first one left behind. */
export function decideNodeTaints(node: Node, memory: undefined, now: Instant): Decision<undefined> {
  const taints = scheduledTaints(node, now);
  const labels = laggingLabels(node);
  if (taints === undefined && labels === undefined) return { actions: [], memory };
  const patch = { ...(labels && { metadata: { labels } }), ...(taints && { spec: { taints } }) };
  return { actions: [{ do: "patch", target: refTo(nodes, node), type: "merge", patch }], memory };
}
