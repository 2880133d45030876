import type { Node } from "../api/core.ts";
import { changeTaints, type TaintName, taintKeys, taintOf, taintsOf } from "../api/taints.ts";
import { conditionTypes } from "../board/node-conditions.ts";
import { outOfService, outOfServiceAnnotation } from "../controllers/node-lifecycle/out-of-service.ts";

/** What is taken off a Node when its site is handed back. */
export interface Leaving {
  readonly taints: readonly TaintName[];
  readonly annotations: readonly string[];
  readonly conditions: readonly string[];
}

const ownKeys: readonly string[] = Object.values(taintKeys);
/** Of the annotations that only we write. */
export const ownPrefix = "siteward.dev/";

/**
 * The taints that a node lifecycle controller keeps, whose judgement ends with ours: the next one puts there what it thinks
 * right. The taint of an operator's word goes with the annotation that says so; one that a user put there stays.
 */
export function leavingOf(node: Node): Leaving {
  const { annotations = {} } = node.metadata;
  const isOutOfService = outOfServiceAnnotation in annotations && taintOf(node, outOfService) !== undefined;
  const conditions = Array.isArray(node.status?.conditions) ? node.status.conditions : [];
  return {
    taints: [
      ...taintsOf(node).filter(({ key }) => ownKeys.includes(key)),
      ...(isOutOfService ? [outOfService] : []),
    ].map(({ key, effect }) => ({ key, effect })),
    annotations: Object.keys(annotations).filter((name) => name.startsWith(ownPrefix)),
    conditions: conditions.map(({ type }) => type).filter((type) => conditionTypes.includes(type)),
  };
}

export const isNothing = ({ taints, annotations, conditions }: Leaving): boolean =>
  taints.length + annotations.length + conditions.length === 0;

/** Of the Node itself; what it was read as is the precondition. */
export function metadataPatch(node: Node, { taints, annotations }: Leaving): object {
  const { uid, resourceVersion } = node.metadata;
  const without = Object.fromEntries(annotations.map((name) => [name, null]));
  return {
    metadata: { uid, resourceVersion, ...(annotations.length > 0 && { annotations: without }) },
    ...(taints.length > 0 && { spec: { taints: changeTaints(taintsOf(node), { remove: taints }) } }),
  };
}

/** By strategic merge: what kubelets and others report stays. */
export const statusPatch = ({ metadata: { uid } }: Node, { conditions }: Leaving): object => ({
  metadata: { uid },
  status: { conditions: conditions.map((type) => ({ type, $patch: "delete" })) },
});

/** "node.kubernetes.io/unreachable:NoExecute, annotation siteward.dev/standby" */
export const leavingText = ({ taints, annotations, conditions }: Leaving): string =>
  [
    ...taints.map(({ key, effect }) => `taint ${key}:${effect}`),
    ...annotations.map((name) => `annotation ${name}`),
    ...conditions.map((type) => `condition ${type}`),
  ].join(", ");
