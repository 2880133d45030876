import type { Node } from "../api/core.ts";
import { changeTaints, type TaintName, taintKeys, taintsOf } from "../api/taints.ts";
import { conditionTypes } from "../board/node-conditions.ts";
import { hasOwnTaint, outOfService } from "../controllers/node-lifecycle/out-of-service/mark.ts";

/** The taints, annotations and conditions that a release removes from a Node. */
export interface NodeRemovals {
  readonly taints: readonly TaintName[];
  readonly annotations: readonly string[];
  readonly conditions: readonly string[];
}

const ownKeys: readonly string[] = Object.values(taintKeys);
/** Prefix of annotations that only siteward writes. */
export const ownPrefix = "siteward.dev/";

/**
 * The parts that a release removes from this Node. The node lifecycle taints are siteward's verdicts, unless it judges in
 * shadow mode (`keepsTaints`); the next controller sets its own. The out-of-service taint is removed only if a
 * siteward command set it.
 */
export function leavingOf(node: Node, { keepsTaints }: { readonly keepsTaints: boolean }): NodeRemovals {
  const { annotations = {} } = node.metadata;
  const conditions = Array.isArray(node.status?.conditions) ? node.status.conditions : [];
  return {
    taints: [
      ...taintsOf(node).filter(({ key }) => !keepsTaints && ownKeys.includes(key)),
      ...(hasOwnTaint(node) ? [outOfService] : []),
    ].map(({ key, effect }) => ({ key, effect })),
    annotations: Object.keys(annotations).filter((name) => name.startsWith(ownPrefix)),
    conditions: conditions.map(({ type }) => type).filter((type) => conditionTypes.includes(type)),
  };
}

export const isNothing = ({ taints, annotations, conditions }: NodeRemovals): boolean =>
  taints.length + annotations.length + conditions.length === 0;

/** The patch that removes taints and annotations. Its precondition is the resourceVersion that was read. */
export function metadataPatch(node: Node, { taints, annotations }: NodeRemovals): object {
  const { uid, resourceVersion } = node.metadata;
  const without = Object.fromEntries(annotations.map((name) => [name, null]));
  return {
    metadata: { uid, resourceVersion, ...(annotations.length > 0 && { annotations: without }) },
    ...(taints.length > 0 && { spec: { taints: changeTaints(taintsOf(node), { remove: taints }) } }),
  };
}

/** The patch that removes conditions: a strategic merge, so that conditions set by kubelets and others are kept. */
export const statusPatch = ({ metadata: { uid } }: Node, { conditions }: NodeRemovals): object => ({
  metadata: { uid },
  status: { conditions: conditions.map((type) => ({ type, $patch: "delete" })) },
});

/** The removals in words, such as "taint node.kubernetes.io/unreachable:NoExecute, annotation siteward.dev/standby". */
export const leavingText = ({ taints, annotations, conditions }: NodeRemovals): string =>
  [
    ...taints.map(({ key, effect }) => `taint ${key}:${effect}`),
    ...annotations.map((name) => `annotation ${name}`),
    ...conditions.map((type) => `condition ${type}`),
  ].join(", ");
