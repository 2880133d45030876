import type { Node, Taint } from "../../api/core.ts";
import type { Outcome } from "../../execution/actions.ts";
import type { Examined } from "./health.ts";
import { needsUnknownCondition } from "./health.ts";
import type { TaintWrite } from "./pass.ts";
import { withoutNoExecute } from "./taints.ts";

/**
 * The writes that remove our NoExecute taint from boards that are ready again, by board; these are not subject to zone
 * limits. They are sent before the conditions of silent boards, because a living kubelet changes its Node within
 * seconds, and our write would then be refused as a conflict.
 */
export function taintRemovals(examined: readonly Examined[]): ReadonlyMap<string, TaintWrite> {
  const back = new Map<string, TaintWrite>();
  for (const board of examined) {
    const { node, cached } = board.sighting;
    if (board.readyBefore !== "True" || needsUnknownCondition(board)) continue;
    const taints = withoutNoExecute(node);
    if (taints)
      back.set(node.metadata.name, { node, cached, taints, cause: undefined, grounds: undefined, turn: undefined });
  }
  return back;
}

/**
 * The examined boards after the writes of `back`. If a taint was removed, the Node is the one that this write returned.
 */
export function withTaintsRemoved(
  examined: readonly Examined[],
  back: ReadonlyMap<string, TaintWrite>,
  outcomes: readonly Outcome[],
): readonly Examined[] {
  const nodes = new Map<string, Node>();
  for (const outcome of outcomes) {
    if (!outcome.ok || outcome.action.do !== "patch") continue;
    const { name } = outcome.action.target;
    const write = back.get(name);
    const version = outcome.object?.metadata.resourceVersion;
    if (write && version !== undefined) nodes.set(name, withSpecTaints(write.node, write.taints, version));
  }
  if (nodes.size === 0) return examined;
  return examined.map((board) => {
    const node = nodes.get(board.sighting.node.metadata.name);
    return node ? { ...board, sighting: { ...board.sighting, node } } : board;
  });
}

export const withSpecTaints = (node: Node, taints: readonly Taint[], resourceVersion: string): Node => ({
  ...node,
  metadata: { ...node.metadata, resourceVersion },
  spec: { ...node.spec, taints },
});
